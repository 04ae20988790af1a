// SPDX-License-Identifier: MIT
#pragma once

#include "slurmtune/base/error.hpp"
#include "slurmtune/base/instant.hpp"
#include "slurmtune/record/verdict.hpp"
#include "slurmtune/runner/lane/lane_trial.hpp"
#include "slurmtune/runner/trial_setup.hpp"

namespace slurmtune {

/// The parts of a verdict that do not depend on how the trial ended.
[[nodiscard]] Verdict blank_verdict(const TrialFrame& frame, const Experiment& experiment,
                                    Instant at);

/// The verdict of a trial that was run (or could not be started) from `started` to `ended`.
/// Throughput = samples of a step / seconds of a step; the samples are the trial's own word, else
/// the study's (global_batch_of).
[[nodiscard]] Verdict verdict_of(const TrialFrame& frame, const Experiment& experiment,
                                 const TrialResult& result, Instant started, Instant ended);

/// A verdict without a trial: why there was none.
[[nodiscard]] Verdict verdict_without_trial(const TrialFrame& frame, const Experiment& experiment,
                                            Outcome outcome, std::string reason, std::string line,
                                            Instant at);

}  // namespace slurmtune
