// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "slurmtune/record/verdict.hpp"
#include "slurmtune/runner/judge/launch_report.hpp"
#include "slurmtune/runner/measure/trial_watch.hpp"

namespace slurmtune {

/// The facts about a trial's end, from which its outcome follows.
struct TrialEnd {
  std::optional<EndReason> ended_by_us;
  std::optional<std::string> not_started;  ///< why it could not even be started
  std::optional<int> exit_code;            ///< of what the runner started
  std::optional<int> signal;
  /// What the runner itself saw of the first rank that failed; wins over the launcher's words.
  std::optional<RankFailure> first_failure;
  bool rank_failed = false;         ///< one did, and the runner ended the others
  bool out_of_memory_kill = false;  ///< the kernel killed a process of our control group for memory
  /// Largest use of host memory, as a fraction of the limit that held; absent where there is none.
  std::optional<double> peak_host_fraction;
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

/// How a trial ended.
///
/// - Ended by the runner: the reason says it (interval reached, time, preemption, …).
/// - Exit 0: ok if steps were measured, with reason `completed`, or `ended_early` below min_steps
///   but with the readings that an interval needs. With fewer it is a config_error: the run is
///   too short or prints no step lines, and another try would not change that.
/// - Else, in this order:
///   1. the exit status or signal of the first rank that failed, as the runner saw it, else as its
///      launcher says: what follows is asked about that rank;
///   2. a SIGKILL while the kernel counted an out-of-memory kill in our control group is host_oom,
///      `rule:kernel-oom-kill`;
///   3. a SIGKILL without that count, but with memory within 10 % of its limit, is host_oom,
///      `memory-curve`: a limit of another kind than our control group's (a daemon's, a parent
///      group's) kills just so;
///   4. what was written, in the forms of failure_rules.hpp: the failing rank's own lines before
///      those of others, and never what a rank says only because another one failed;
///   5. exit 126 or 127 before the first step is launch_error, anything else crashed.
///   A word in a log decides nothing about a trial that did not fail by its status.
[[nodiscard]] Classified classify(const TrialEnd& end);

}  // namespace slurmtune
