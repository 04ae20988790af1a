// SPDX-License-Identifier: MIT
#include "examples/minitrain/model.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include "examples/minitrain/chance.hpp"
#include "tests/support/catch.hpp"

using minitrain::Checkpointing;
using minitrain::DeviceMemory;
using minitrain::GradientSink;
using minitrain::ModelShape;
using minitrain::ParameterSource;
using minitrain::ResidualMlp;

namespace {

using Units = std::vector<std::vector<float>>;

class PlainParameters final : public ParameterSource {
 public:
  explicit PlainParameters(Units units) : units_{std::move(units)} {}
  const float* acquire(std::size_t unit) override {
    ++held_;
    return units_[unit].data();
  }
  void release(std::size_t /*unit*/) override { --held_; }

  Units units_;
  int held_ = 0;
};

class PlainGradients final : public GradientSink {
 public:
  explicit PlainGradients(const Units& like) {
    for (const auto& unit : like) units_.emplace_back(unit.size(), 0.0F);
  }
  float* begin(std::size_t unit) override { return units_[unit].data(); }
  void end(std::size_t unit) override { ended_.push_back(unit); }

  Units units_;
  std::vector<std::size_t> ended_;
};

constexpr ModelShape shape = {.layers = 2, .hidden = 5, .input = 3};
constexpr std::size_t rows = 4;

Units initial_units() {
  Units units;
  const auto elements = minitrain::unit_elements(shape);
  for (std::size_t unit = 0; unit < elements.size(); ++unit) {
    units.emplace_back(elements[unit]);
    for (std::size_t i = 0; i < elements[unit]; ++i) {
      // Biases start at zero; here they must matter, too.
      units[unit][i] =
          minitrain::initial_value(shape, 3, unit, i) + 0.1F * minitrain::random_symmetric(unit, i);
    }
  }
  return units;
}

std::vector<float> random_rows(std::uint64_t key) {
  std::vector<float> values(rows * shape.input);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = minitrain::random_symmetric(key, i);
  return values;
}

struct Pass {
  double loss;
  Units gradients;
  std::uint64_t kept_bytes;
  std::uint64_t left_bytes;
  std::vector<std::size_t> ended;
  int held;
};

Pass run_pass(const Units& units, Checkpointing checkpointing) {
  const std::vector<float> inputs = random_rows(11);
  const std::vector<float> targets = random_rows(12);
  DeviceMemory memory(std::nullopt);
  ResidualMlp model(shape, checkpointing, memory);
  PlainParameters parameters(units);
  PlainGradients gradients(units);
  const std::uint64_t before = memory.allocated_bytes();
  const double loss = model.forward(inputs, targets, rows, parameters);
  const std::uint64_t kept = memory.allocated_bytes() - before;
  model.backward(1.0F, parameters, gradients);
  return {loss,
          gradients.units_,
          kept,
          memory.allocated_bytes() - before,
          gradients.ended_,
          parameters.held_};
}

}  // namespace

TEST_CASE("ResidualMlp: every gradient agrees with finite differences", "[minitrain]") {
  const Units units = initial_units();
  const Pass pass = run_pass(units, Checkpointing::off);
  const float step = 4e-3F;
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    for (std::size_t i = 0; i < units[unit].size(); ++i) {
      Units higher = units;
      Units lower = units;
      higher[unit][i] += step;
      lower[unit][i] -= step;
      const double width = static_cast<double>(higher[unit][i]) - lower[unit][i];
      const double slope =
          (run_pass(higher, Checkpointing::off).loss - run_pass(lower, Checkpointing::off).loss) /
          width;
      INFO("unit " << unit << ", element " << i);
      CHECK(static_cast<double>(pass.gradients[unit][i]) ==
            Approx(slope).margin(2e-3).epsilon(0.01));
    }
  }
}

TEST_CASE("ResidualMlp: gradients add to what is there", "[minitrain]") {
  const Units units = initial_units();
  const Pass once = run_pass(units, Checkpointing::off);
  const std::vector<float> inputs = random_rows(11);
  const std::vector<float> targets = random_rows(12);
  DeviceMemory memory(std::nullopt);
  ResidualMlp model(shape, Checkpointing::off, memory);
  PlainParameters parameters(units);
  PlainGradients gradients(units);
  for (int pass = 0; pass < 2; ++pass) {
    CHECK(model.forward(inputs, targets, rows, parameters) == once.loss);
    model.backward(0.5F, parameters, gradients);
  }
  for (std::size_t unit = 0; unit < units.size(); ++unit) {
    for (std::size_t i = 0; i < units[unit].size(); ++i) {
      CHECK(gradients.units_[unit][i] == Approx(once.gradients[unit][i]).margin(1e-5));
    }
  }
}

TEST_CASE("ResidualMlp: checkpointing changes the memory and nothing else", "[minitrain]") {
  const Units units = initial_units();
  const Pass plain = run_pass(units, Checkpointing::off);
  const Pass checkpointed = run_pass(units, Checkpointing::on);
  CHECK(checkpointed.loss == plain.loss);
  CHECK(checkpointed.gradients == plain.gradients);
  // Twice rows x inner floats less for every block.
  const std::uint64_t inner_bytes = 2 * rows * shape.inner() * shape.layers * sizeof(float);
  CHECK(plain.kept_bytes - checkpointed.kept_bytes == inner_bytes);
}

TEST_CASE("ResidualMlp: gives everything back, and ends gradients last layer first",
          "[minitrain]") {
  const Pass pass = run_pass(initial_units(), Checkpointing::on);
  CHECK(pass.left_bytes == 0);
  CHECK(pass.held == 0);
  CHECK(pass.ended == std::vector<std::size_t>{3, 2, 1, 0});
}

TEST_CASE("initial_value: biases are zero, weights vary and depend on the seed", "[minitrain]") {
  const std::size_t weights = shape.input * shape.hidden;
  CHECK(minitrain::initial_value(shape, 1, 0, weights) == 0.0F);
  CHECK(minitrain::initial_value(shape, 1, 0, 0) != minitrain::initial_value(shape, 1, 0, 1));
  CHECK(minitrain::initial_value(shape, 1, 1, 0) != minitrain::initial_value(shape, 2, 1, 0));
  CHECK(std::abs(minitrain::initial_value(shape, 1, 0, 0)) <= 1.0F);
}
