// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "slurmtune/record/verdict.hpp"
#include "slurmtune/runner/measure/trial_watch.hpp"

namespace slurmtune {

/// The facts about a trial's end, from which its outcome follows.
struct TrialEnd {
  std::optional<EndReason> ended_by_us;
  std::optional<std::string> not_started;  ///< why it could not even be started
  std::optional<int> exit_code;            ///< of what the runner started
  std::optional<int> signal;
  bool rank_failed = false;         ///< one did, and the runner ended the others
  bool out_of_memory_kill = false;  ///< the kernel killed a process of our control group for memory
  int steps_seen = 0;
  int measured_steps = 0;
  bool has_interval = false;
  bool last_loss_is_bad = false;
  int min_steps = 8;
  std::vector<std::string> lines;  ///< last output, oldest first, launcher prefixes stripped
  std::vector<std::optional<int>> line_ranks;  ///< the rank that wrote each, where it is known
};

struct Classified {
  Outcome outcome = Outcome::crashed;
  std::string reason;
  std::optional<Evidence> evidence;  ///< absent for ok; `log` is left to the caller
};

/// How a trial ended. The exit status comes first; what the trial said is asked only about one that
/// failed by it, and only in the forms of failure_rules.hpp.
///
/// - Ended by the runner: the reason says it (interval reached, time, preemption, …).
/// - Exit 0: ok if steps were measured, with reason `completed`, or `ended_early` below min_steps
///   but with the two steps that an interval needs. With fewer it is a config_error: the run is
///   too short or prints no step lines, and another try would not change that.
/// - Else: the first matching rule, an out-of-memory kill by the kernel, exit 126 or 127 before
///   the first step (launch_error), or crashed.
[[nodiscard]] Classified classify(const TrialEnd& end);

}  // namespace slurmtune
