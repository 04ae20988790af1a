// SPDX-License-Identifier: MIT
#include "examples/minitrain/samples.hpp"

#include <cstddef>
#include <vector>

#include "tests/support/catch.hpp"

namespace {

constexpr minitrain::SampleShape shape = {.sequence = 3, .input = 4};

struct Sample {
  std::vector<float> inputs = std::vector<float>(shape.sequence * shape.input);
  std::vector<float> targets = std::vector<float>(shape.sequence * shape.input);
};

Sample sample(std::uint64_t seed, std::uint64_t index) {
  Sample made;
  minitrain::make_sample(seed, index, shape, made.inputs, made.targets);
  return made;
}

}  // namespace

TEST_CASE("make_sample: depends on the seed and the index alone", "[minitrain]") {
  CHECK(sample(1, 7).inputs == sample(1, 7).inputs);
  CHECK(sample(1, 7).targets == sample(1, 7).targets);
  CHECK(sample(1, 7).inputs != sample(1, 8).inputs);
  CHECK(sample(1, 7).inputs != sample(2, 7).inputs);
}

TEST_CASE("make_sample: inputs are spread over [-1, 1)", "[minitrain]") {
  double sum = 0;
  double squares = 0;
  constexpr int samples = 2000;
  for (int i = 0; i < samples; ++i) {
    for (const float value : sample(5, static_cast<std::uint64_t>(i)).inputs) {
      CHECK((value >= -1.0F && value < 1.0F));
      sum += value;
      squares += static_cast<double>(value) * value;
    }
  }
  const double values = samples * static_cast<double>(shape.sequence * shape.input);
  CHECK(sum / values == Approx(0.0).margin(0.02));
  CHECK(squares / values == Approx(1.0 / 3.0).margin(0.02));
}

TEST_CASE("make_sample: targets follow the formula", "[minitrain]") {
  const Sample made = sample(1, 0);
  const float* x = made.inputs.data() + shape.input;  // the second point
  CHECK(made.targets[shape.input + 3] == Approx(x[3] * x[3] - x[0] * x[1]));
}
