// SPDX-License-Identifier: MIT
#pragma once

#include <cmath>
#include <vector>

#include "slurmtune/base/random.hpp"
#include "slurmtune/model/statistics.hpp"

namespace slurmtune {

/// The forms of noise of step times, each about ±5 %.
enum class StepNoise {
  uniform,  ///< in ±5 %
  normal,   ///< 5 % are two standard deviations
  alike,    ///< the same, each step resembling the one before (lag-1 correlation 0.4)
};

/// What recorded series of step times look like: a start 10 to 60 times slower that settles in one
/// to five steps, ±5 % noise, a drift of up to 1 % over the run, 4 % of steps 1.8 times slower (a
/// neighbour, a garbage collector), 1 % that stall for 5 to 20 steps (a file system).
inline std::vector<double> recorded_series(Random& random, double step_s, std::size_t count,
                                           StepNoise noise) {
  const auto between = [&](double low, double high) {
    return low + (high - low) * random.uniform();
  };
  const std::size_t slow_steps = 1 + random.below(5);
  const double slowest = between(10.0, 60.0);
  const double settling = between(0.1, 0.5);
  const double drift = between(-0.01, 0.01);
  const double alike = noise == StepNoise::alike ? 0.4 : 0.0;
  double state = draw_normal(random);
  std::vector<double> series;
  for (std::size_t i = 0; i < count; ++i) {
    const double relative = static_cast<double>(i) / static_cast<double>(count);
    double value = step_s * (1.0 + drift * relative);
    if (noise == StepNoise::uniform) {
      value *= between(0.95, 1.05);
    } else {
      value *= 1.0 + 0.025 * state;
      state = alike * state + std::sqrt(1.0 - alike * alike) * draw_normal(random);
    }
    if (i < slow_steps) {
      value *= 1.0 + (slowest - 1.0) * std::pow(settling, static_cast<double>(i));
    }
    if (random.uniform() < 0.04) value *= 1.8;
    if (random.uniform() < 0.01) value *= between(5.0, 20.0);
    series.push_back(value);
  }
  return series;
}

}  // namespace slurmtune
