// SPDX-License-Identifier: MIT
#include "slurmtune/model/statistics.hpp"

#include <array>
#include <cmath>
#include <numbers>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

bool is_comparable(double figure) {
  return figure >= comparable_min && figure <= comparable_max;  // a NaN is not
}

double normal_cdf(double z) { return 0.5 * std::erfc(-z / std::numbers::sqrt2); }

double student_t_975(int degrees) {
  constexpr std::array table{12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
                             2.201,  2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
                             2.080,  2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042};
  SLURMTUNE_ASSERT(degrees >= 1);
  const auto index = static_cast<std::size_t>(degrees - 1);
  if (index < table.size()) return table[index];
  constexpr double z = z_975;
  return z + (z * z * z + z) / (4.0 * degrees);
}

double mean(std::span<const double> values) {
  SLURMTUNE_ASSERT(!values.empty());
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

double sample_deviation(std::span<const double> values) {
  SLURMTUNE_ASSERT(values.size() >= 2);
  const double middle = mean(values);
  double squares = 0.0;
  for (const double value : values) squares += (value - middle) * (value - middle);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

Interval mean_interval(std::span<const double> values) {
  const double middle = mean(values);
  const double error = sample_deviation(values) / std::sqrt(static_cast<double>(values.size()));
  const double half = student_t_975(static_cast<int>(values.size()) - 1) * error;
  return {.low = middle - half, .mid = middle, .high = middle + half};
}

double draw_normal(Random& random) {
  const double radius = std::sqrt(-2.0 * std::log(1.0 - random.uniform()));
  return radius * std::cos(2.0 * std::numbers::pi * random.uniform());
}

double draw_student_t(Random& random, int degrees) {
  SLURMTUNE_ASSERT(degrees >= 1);
  const double numerator = draw_normal(random);
  double squares = 0.0;
  for (int i = 0; i < degrees; ++i) {
    const double normal = draw_normal(random);
    squares += normal * normal;
  }
  return numerator / std::sqrt(squares / degrees);
}

std::optional<AffineFit> fit_affine(std::span<const Point> points) {
  if (points.size() < 2) return std::nullopt;
  const auto count = static_cast<double>(points.size());
  double x_mean = 0.0;
  double y_mean = 0.0;
  for (const Point& point : points) {
    x_mean += point.x / count;
    y_mean += point.y / count;
  }
  double xx = 0.0;
  double xy = 0.0;
  for (const Point& point : points) {
    xx += (point.x - x_mean) * (point.x - x_mean);
    xy += (point.x - x_mean) * (point.y - y_mean);
  }
  // Equal x leave rounding errors, not a spread.
  if (xx <= 1e-12 * x_mean * x_mean * count) return std::nullopt;
  AffineFit fit;
  fit.slope = xy / xx;
  fit.intercept = y_mean - fit.slope * x_mean;
  fit.x_mean = x_mean;
  fit.x_spread = std::sqrt(xx);
  fit.points = static_cast<int>(points.size());
  double squares = 0.0;
  for (const Point& point : points) {
    const double left = point.y - fit.at(point.x);
    squares += left * left;
  }
  fit.residual = points.size() == 2 ? 0.0 : std::sqrt(squares / count);
  return fit;
}

}  // namespace slurmtune
