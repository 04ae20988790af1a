// SPDX-License-Identifier: MIT
#include "slurmtune/generate/task_time.hpp"

#include <algorithm>
#include <cmath>

namespace slurmtune {

namespace {

constexpr double step_s_at_most = 3.0;
constexpr std::int64_t minute_s = 60;

std::int64_t trial_s(const TrialLimits& limits) {
  return static_cast<std::int64_t>(std::ceil(limits.total_s + trial_end_s));
}

}  // namespace

TrialLimits trial_limits(const MeasureSpec& measure) {
  const double derived = measure.startup_s + measure.stall_s + step_s_at_most * measure.max_steps;
  return {.startup_s = measure.startup_s,
          .stall_s = measure.stall_s,
          .total_s = measure.total_s > 0.0 ? measure.total_s : derived};
}

std::int64_t task_walltime_s(std::int64_t experiments, int lanes, const TrialLimits& limits) {
  const std::int64_t one_after_another = (experiments + lanes - 1) / lanes;
  const std::int64_t seconds = task_margin_s + one_after_another * trial_s(limits);
  return (seconds + minute_s - 1) / minute_s * minute_s;
}

std::int64_t experiments_that_fit(std::int64_t walltime_s, int lanes, const TrialLimits& limits) {
  return std::max<std::int64_t>(0, (walltime_s - task_margin_s) / trial_s(limits)) * lanes;
}

}  // namespace slurmtune
