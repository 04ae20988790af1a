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

  [[nodiscard]] double fixed_s() const { return fixed_s_; }
  [[nodiscard]] double per_sample_s() const { return per_sample_s_; }

 private:
  std::vector<double> micro_batches_;  ///< measured ones
  double fixed_s_ = 0.0;
  double per_sample_s_ = 0.0;
  double deviation_ = 0.0;
};

}  // namespace slurmtune
