// SPDX-License-Identifier: MIT
#include "examples/minitrain/adam.hpp"

#include <cmath>
#include <cstddef>
#include <vector>

#include "tests/support/catch.hpp"

using minitrain::Adam;
using minitrain::AdamConfig;
using minitrain::DeviceMemory;

namespace {

constexpr std::size_t elements = 37;  // no multiple of a vector width

std::vector<float> gradient_of_step(int step) {
  std::vector<float> gradient(elements);
  for (std::size_t i = 0; i < elements; ++i) {
    gradient[i] = std::sin(static_cast<float>(i) + 0.7F * static_cast<float>(step));
  }
  return gradient;
}

/// The textbook's formulas, in double.
std::vector<double> reference(const AdamConfig& config, int steps) {
  std::vector<double> p(elements, 0.5);
  std::vector<double> m(elements, 0.0);
  std::vector<double> v(elements, 0.0);
  for (int step = 1; step <= steps; ++step) {
    const std::vector<float> gradient = gradient_of_step(step);
    for (std::size_t i = 0; i < elements; ++i) {
      double g = gradient[i];
      if (!config.decoupled_decay) g += config.weight_decay * p[i];
      m[i] = config.beta1 * m[i] + (1 - config.beta1) * g;
      v[i] = config.beta2 * v[i] + (1 - config.beta2) * g * g;
      const double m_hat = m[i] / (1 - std::pow(config.beta1, step));
      const double v_hat = v[i] / (1 - std::pow(config.beta2, step));
      if (config.decoupled_decay) p[i] -= config.lr * config.weight_decay * p[i];
      p[i] -= config.lr * m_hat / (std::sqrt(v_hat) + config.eps);
    }
  }
  return p;
}

}  // namespace

TEST_CASE("Adam: follows the published update, with both kinds of decay", "[minitrain]") {
  AdamConfig config;
  config.lr = 0.01;
  config.weight_decay = GENERATE(0.0, 0.1);
  config.decoupled_decay = GENERATE(false, true);
  DeviceMemory memory(std::nullopt);
  Adam adam(config, elements, memory);
  CHECK(memory.allocated_bytes() == 2 * elements * sizeof(float));
  std::vector<float> parameters(elements, 0.5F);
  constexpr int steps = 5;
  for (int step = 1; step <= steps; ++step) {
    const std::vector<float> gradient = gradient_of_step(step);
    adam.begin_step();
    // In two parts, as the units of a model.
    const std::span<float> all(parameters);
    const std::span<const float> slopes(gradient);
    adam.update(0, slopes.first(20), all.first(20));
    adam.update(20, slopes.subspan(20), all.subspan(20));
  }
  const std::vector<double> wanted = reference(config, steps);
  for (std::size_t i = 0; i < elements; ++i) {
    INFO("element " << i);
    CHECK(static_cast<double>(parameters[i]) == Approx(wanted[i]).margin(2e-6));
  }
}
