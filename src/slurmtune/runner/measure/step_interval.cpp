// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/step_interval.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "slurmtune/model/statistics.hpp"

namespace slurmtune {

namespace {

constexpr double trimmed_fraction = 0.2;
constexpr double autocorrelation_max = 0.8;
constexpr double low_fraction_min = 0.1;

/// Sum over (x[i] - centre)(x[i + lag] - centre).
double lagged_products(std::span<const double> values, double centre, std::size_t lag) {
  double sum = 0;
  for (std::size_t i = 0; i + lag < values.size(); ++i) {
    sum += (values[i] - centre) * (values[i + lag] - centre);
  }
  return sum;
}

}  // namespace

std::optional<Interval> step_interval(std::span<const double> readings) {
  const std::size_t count = readings.size();
  if (count < 2) return std::nullopt;
  const auto size = static_cast<double>(count);
  const auto cut = static_cast<std::size_t>(trimmed_fraction * size);

  std::vector<double> sorted(readings.begin(), readings.end());
  std::sort(sorted.begin(), sorted.end());
  const std::size_t left = count - 2 * cut;
  const double mid = mean(std::span(sorted).subspan(cut, left));

  // Winsorized: what would be trimmed is pulled to the nearest reading that is kept; order stays.
  std::vector<double> pulled(readings.begin(), readings.end());
  for (double& value : pulled) value = std::clamp(value, sorted[cut], sorted[count - 1 - cut]);
  const double centre = mean(pulled);
  const double squares = lagged_products(pulled, centre, 0);
  if (squares <= 0) return Interval{mid, mid, mid};

  const double correlation =
      std::clamp(lagged_products(pulled, centre, 1) / squares, 0.0, autocorrelation_max);
  const double kept = 1.0 - 2.0 * static_cast<double>(cut) / size;
  const double error = std::sqrt(squares / (size - 1)) / (kept * std::sqrt(size)) *
                       std::sqrt((1 + correlation) / (1 - correlation));
  const double half = student_t_975(static_cast<int>(left) - 1) * error;
  return Interval{std::max(mid - half, mid * low_fraction_min), mid, mid + half};
}

double relative_width(const Interval& interval) {
  return (interval.high - interval.low) / interval.mid;
}

}  // namespace slurmtune
