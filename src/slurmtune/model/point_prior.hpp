// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "slurmtune/model/layout/training_layout.hpp"
#include "slurmtune/space/valid_set.hpp"

namespace slurmtune {

/// What is believed of a point before it is tried.
struct PriorOfPoint {
  double log_value = 0.0;     ///< natural logarithm of the objective's value; see PointPrior
  double log_value_sd = 0.0;  ///< of a measurement
  double fits = 0.5;          ///< the probability that it fits into memory
};

enum class PriorOutcome { measured, does_not_fit };

/// A trial that says something: `levels` outlives the call. Trials that are pending, were
/// preempted, or failed for another reason than memory say nothing.
struct PriorTrial {
  std::span<const std::int32_t> levels;
  PriorOutcome outcome = PriorOutcome::measured;
  double value = 0.0;  ///< larger is better; only if measured
};

/// What is known of the points of a space, before trials and by them. Values that are all negative
/// (a time that is to be small) count as -log(-value); of values of both signs nothing is learned.
class PointPrior {
 public:
  virtual ~PointPrior() = default;

  /// `levels`: one for each parameter of the space, -1 = absent.
  [[nodiscard]] virtual PriorOfPoint of(std::span<const std::int32_t> levels) const = 0;

  /// The same, corrected by what trials say. The order of the trials does not matter.
  [[nodiscard]] virtual std::unique_ptr<PointPrior> calibrated(
      std::span<const PriorTrial> trials) const = 0;

  /// Whether anything but trials stands behind it: roles.
  [[nodiscard]] virtual bool is_informed() const = 0;
};

/// The prior of a space whose parameters have roles: step_time and layout_memory of each point,
/// with the model's shape and the machine as far as `facts` has them; else with nominal ones, more
/// widely spread, and memory such that of the points of `sample` somewhat less than half fit. Never
/// sure of what fits: log-odds are within ±3.
///
/// Trials correct it by additive terms. Values: a ridge regression of what is left of their
/// logarithms on the parameters (a line and a bend for numbers, in doublings where they are
/// degrees or batches, a step for each word) and on the prior itself, which may be wrong in scale.
/// Fit: a logistic regression that starts from the prior's log-odds and may add to them only what
/// the roles' signs allow (MemoryOrder); parameters without a sign are free. Points that the
/// outcomes settle by order (OrderKnowledge) are held for 97 % sure.
///
/// Without any role of a layout the terms are all there is (is_informed() is false).
[[nodiscard]] std::unique_ptr<PointPrior> make_point_prior(
    std::span<const LevelParameter> parameters, const LayoutFacts& facts,
    std::span<const Levels> sample, RoleSource source = RoleSource::given_or_named);

}  // namespace slurmtune
