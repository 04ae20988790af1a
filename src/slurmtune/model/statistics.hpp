// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>

#include "slurmtune/base/random.hpp"
#include "slurmtune/record/interval.hpp"

namespace slurmtune {

/// Probability that a standard normal variable is at most `z`.
[[nodiscard]] double normal_cdf(double z);

/// The 0.975 quantile of Student's t with `degrees` >= 1 degrees of freedom: half the width of a
/// 95 % interval in standard errors. Tabulated to 30, then the first term of the Cornish-Fisher
/// expansion. Source: Fisher and Cornish, Technometrics 2 (1960).
[[nodiscard]] double student_t_975(int degrees);

[[nodiscard]] double mean(std::span<const double> values);

/// Half the width of a normal variable's 95 % interval in standard deviations.
inline constexpr double z_975 = 1.959964;

/// The standard error of a figure with this 95 % interval, if it is normal.
[[nodiscard]] inline double deviation_of(const Interval& interval) {
  return (interval.high - interval.low) / (2.0 * z_975);
}

/// Standard deviation of a sample of at least two, with n - 1 below.
[[nodiscard]] double sample_deviation(std::span<const double> values);

/// The mean of at least two values with its 95 % interval by Student's t.
[[nodiscard]] Interval mean_interval(std::span<const double> values);

/// A draw from the standard normal distribution. Source: Box and Muller, Ann. Math. Stat. 29
/// (1958).
[[nodiscard]] double draw_normal(Random& random);

/// A draw from Student's t with `degrees` >= 1 degrees of freedom.
[[nodiscard]] double draw_student_t(Random& random, int degrees);

/// Bounds within which figures are compared: sums, squares and ratios of them are finite. What a
/// trial measured lies far within; what does not is an error of the trial.
inline constexpr double comparable_min = 1e-60;
inline constexpr double comparable_max = 1e60;

/// Whether a figure is a positive number within those bounds.
[[nodiscard]] bool is_comparable(double figure);

struct Point {
  double x = 0.0;
  double y = 0.0;
};

/// y = intercept + slope * x.
struct AffineFit {
  double intercept = 0.0;
  double slope = 0.0;
  double residual = 0.0;  ///< root mean square of what the line leaves; 0 with two points
  double x_mean = 0.0;
  double x_spread = 0.0;  ///< root of the sum of squares about x_mean
  int points = 0;

  [[nodiscard]] double at(double x) const { return intercept + slope * x; }
};

/// Least squares; nothing if there are fewer than two different x.
[[nodiscard]] std::optional<AffineFit> fit_affine(std::span<const Point> points);

}  // namespace slurmtune
