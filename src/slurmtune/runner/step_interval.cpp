// SPDX-License-Identifier: MIT
#include "slurmtune/runner/step_interval.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

namespace {

constexpr double trimmed_fraction = 0.2;
constexpr double autocorrelation_max = 0.8;
constexpr double low_fraction_min = 0.1;

double mean_of(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// Sum over (x[i] - mean)(x[i + lag] - mean).
double lagged_products(std::span<const double> values, double mean, std::size_t lag) {
  double sum = 0;
  for (std::size_t i = 0; i + lag < values.size(); ++i) {
    sum += (values[i] - mean) * (values[i + lag] - mean);
  }
  return sum;
}

}  // namespace

double student_quantile_975(int freedom) {
  SLURMTUNE_ASSERT(freedom >= 1);
  constexpr std::array<double, 30> table{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306,
                                         2.262,  2.228, 2.201, 2.179, 2.160, 2.145, 2.131, 2.120,
                                         2.110,  2.101, 2.093, 2.086, 2.080, 2.074, 2.069, 2.064,
                                         2.060,  2.056, 2.052, 2.048, 2.045, 2.042};
  if (freedom <= static_cast<int>(table.size()))
    return table[static_cast<std::size_t>(freedom) - 1];
  constexpr double normal = 1.959964;
  return normal + (normal * normal * normal + normal) / (4.0 * freedom);
}

std::optional<Interval> step_interval(std::span<const double> readings) {
  const std::size_t count = readings.size();
  if (count < 2) return std::nullopt;
  const auto size = static_cast<double>(count);
  const auto cut = static_cast<std::size_t>(trimmed_fraction * size);

  std::vector<double> sorted(readings.begin(), readings.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t left = count - 2 * cut;
  const double mid = mean_of(std::span(sorted).subspan(cut, left));

  // Winsorized: what would be trimmed is pulled to the nearest reading that is kept; order stays.
  std::vector<double> pulled(readings.begin(), readings.end());
  for (double& value : pulled) value = std::clamp(value, sorted[cut], sorted[count - 1 - cut]);
  const double mean = mean_of(pulled);
  const double squares = lagged_products(pulled, mean, 0);
  if (squares <= 0) return Interval{mid, mid, mid};

  const double correlation =
      std::clamp(lagged_products(pulled, mean, 1) / squares, 0.0, autocorrelation_max);
  const double kept = 1.0 - 2.0 * static_cast<double>(cut) / size;
  const double error = std::sqrt(squares / (size - 1)) / (kept * std::sqrt(size)) *
                       std::sqrt((1 + correlation) / (1 - correlation));
  const double half = student_quantile_975(static_cast<int>(left) - 1) * error;
  return Interval{std::max(mid - half, mid * low_fraction_min), mid, mid + half};
}

double relative_width(const Interval& interval) {
  return (interval.high - interval.low) / interval.mid;
}

}  // namespace slurmtune
