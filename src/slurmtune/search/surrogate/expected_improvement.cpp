// SPDX-License-Identifier: MIT
#include "slurmtune/search/surrogate/expected_improvement.hpp"

#include <cmath>
#include <numbers>

namespace slurmtune {

double log_expected_improvement(double mean, double sd, double best) {
  const double z = (mean - best) / sd;
  const double log_density = -0.5 * z * z - 0.5 * std::log(2.0 * std::numbers::pi);
  constexpr double series_below = -6.0;
  // z Phi(z) + phi(z) = phi(z) / z^2 (1 - 3 / z^2 + …)
  if (z < series_below) {
    return std::log(sd) + log_density - 2.0 * std::log(-z) + std::log1p(-3.0 / (z * z));
  }
  const double below = 0.5 * std::erfc(-z / std::numbers::sqrt2);
  return std::log(sd * (z * below + std::exp(log_density)));
}

}  // namespace slurmtune
