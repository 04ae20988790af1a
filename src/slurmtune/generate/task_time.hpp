// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "slurmtune/input/study_spec.hpp"
#include "slurmtune/record/experiment.hpp"

namespace slurmtune {

// How long trials and array tasks may last. One place, because the planner sizes arrays by it and
// the generator cuts slices by it: what is planned must hold what is generated.

/// From the start of a task to its first trial, and from its last trial to its end, at worst:
/// MPI start, module loads, a slow shared filesystem.
inline constexpr std::int64_t task_margin_s = 120;

/// What ending one trial may take beyond its limit: SIGTERM, grace, SIGKILL.
inline constexpr double trial_end_s = 15.0;

/// The limits of every trial of a study. Without measure.total_s, a trial may last as long as its
/// start-up, one stalled step, and 3 s for each measured step; slower ones need measure.total_s.
[[nodiscard]] TrialLimits trial_limits(const MeasureSpec& measure);

/// Walltime in which `experiments` surely end, on `lanes` lanes, in seconds, whole minutes.
[[nodiscard]] std::int64_t task_walltime_s(std::int64_t experiments, int lanes,
                                           const TrialLimits& limits);

/// The most experiments that surely end in a task of that walltime; may be 0.
[[nodiscard]] std::int64_t experiments_that_fit(std::int64_t walltime_s, int lanes,
                                                const TrialLimits& limits);

}  // namespace slurmtune
