// SPDX-License-Identifier: MIT
#include "slurmtune/search/surrogate/value_scale.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace slurmtune {

std::vector<double> log_values(std::vector<double> values) {
  const auto is_positive = [](double value) { return value > 0.0; };
  const auto is_negative = [](double value) { return value < 0.0; };
  if (std::ranges::all_of(values, is_positive)) {
    for (double& value : values) value = std::log(value);
  } else if (std::ranges::all_of(values, is_negative)) {
    for (double& value : values) value = -std::log(-value);
  }
  return values;
}

std::vector<double> scaled_values(std::vector<double> values) {
  if (values.empty()) return values;
  values = log_values(std::move(values));
  std::vector<double> sorted = values;
  std::ranges::sort(sorted);
  const double median = sorted[sorted.size() / 2];
  double unit = sorted.back() - median;
  if (unit <= 1e-12) unit = std::max(1e-9, sorted.back() - sorted.front());
  constexpr double drawn_nearer = 0.3;
  double mean = 0.0;
  for (double& value : values) {
    value = (value - median) / unit;
    if (value < -1.0) value = -1.0 - drawn_nearer * std::log1p(-value - 1.0);
    mean += value;
  }
  mean /= static_cast<double>(values.size());
  double variance = 0.0;
  for (const double value : values) variance += (value - mean) * (value - mean);
  const double sd = std::sqrt(variance / static_cast<double>(values.size()));
  for (double& value : values) value = (value - mean) / (sd > 1e-9 ? sd : 1.0);
  return values;
}

}  // namespace slurmtune
