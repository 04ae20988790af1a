// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace slurmtune {

/// A measured step.
struct StepPoint {
  std::int64_t micro_batch = 1;
  std::int64_t accumulation = 1;
  double step_s = 0.0;
  double deviation = 0.0;  ///< relative standard deviation of step_s
};

/// What a step may take.
struct StepForecast {
  double step_s = 0.0;
  double deviation = 0.0;  ///< relative standard deviation
};

/// The time of a training step: accumulation * (fixed + per_sample * micro_batch).
///
/// `fixed` is what every micro-step costs whatever its size, `per_sample` what a sample costs. What
/// a whole step costs once (the optimizer, a reduction of gradients at its end) needs no term of
/// its own: in a study either accumulation is constant, and it is part of `fixed`, or the global
/// batch is, and it is part of `per_sample`. Never negative.
class StepModel {
 public:
  /// Least squares of the relative error. Nothing if there are fewer than two micro-batches.
  [[nodiscard]] static std::optional<StepModel> fit(std::span<const StepPoint> points);

  [[nodiscard]] double step_s(std::int64_t micro_batch, std::int64_t accumulation) const;

  /// Relative standard deviation of a prediction: how well the points lie on the law (a prior of
  /// 2 %, until there are more than two), growing with the distance to the nearest of them in
  /// doublings.
  [[nodiscard]] double spread(std::int64_t micro_batch) const;
  /// The same of the ratio of two predictions: what they have in common falls out.
  [[nodiscard]] double spread_between(std::int64_t one, std::int64_t other) const;

  [[nodiscard]] double fixed_s() const { return fixed_s_; }
  [[nodiscard]] double per_sample_s() const { return per_sample_s_; }

 private:
  std::vector<double> micro_batches_;  ///< measured ones
  double fixed_s_ = 0.0;
  double per_sample_s_ = 0.0;
  double deviation_ = 0.0;
};

/// A step with a micro-batch above the two largest of `points`, on the line through these two. What
/// a sample costs does not fall as micro-batches grow (caches are outgrown, none grows), so that a
/// step takes this long at least. Points of one micro-batch are averaged. Nothing if there are no
/// two micro-batches, or if they do not both lie below.
[[nodiscard]] std::optional<StepForecast> extrapolated_step(std::span<const StepPoint> points,
                                                            std::int64_t micro_batch,
                                                            std::int64_t accumulation);

}  // namespace slurmtune
