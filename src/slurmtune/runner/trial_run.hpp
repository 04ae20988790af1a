// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>

#include "slurmtune/base/error.hpp"
#include "slurmtune/runner/judge/classify.hpp"
#include "slurmtune/runner/measure/trial_watch.hpp"
#include "slurmtune/runner/start/trial_process.hpp"
#include "slurmtune/runner/stop_signals.hpp"
#include "slurmtune/runner/trial_log.hpp"

namespace slurmtune {

/// One trial, ready to run.
struct TrialRun {
  ProcessSpec process;
  WatchRules rules;
  std::filesystem::path log;
  std::filesystem::path metrics;  ///< SLURMTUNE_METRICS; made empty before the start
};

/// What came of it.
struct TrialResult {
  Classified verdict;
  StepMeter meter;
  double startup_s = 0;  ///< to the first finished step, or to the end without one
  double wall_s = 0;     ///< to the end of the last process
  double peak_host_bytes = 0;
};

/// Starts a trial, follows it, ends it when it is time, and says how it ended. All its processes
/// have ended when it returns: SIGTERM, 5 seconds of grace, SIGKILL, then whatever escaped.
/// `tick` is called every 50 ms or so. Errors: unavailable if our own files cannot be written; a
/// trial that cannot be started is no error but a launch_error.
[[nodiscard]] Expected<TrialResult> run_trial(const TrialRun& trial, StopSignals& stop,
                                              const std::function<Expected<void>()>& tick);

}  // namespace slurmtune
