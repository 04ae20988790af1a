// SPDX-License-Identifier: MIT
#include "slurmtune/runner/judge/classify.hpp"

#include <csignal>

#include <fmt/format.h>

#include "slurmtune/runner/judge/failure_rules.hpp"
#include "slurmtune/runner/judge/launch_report.hpp"

namespace slurmtune {

namespace {

constexpr int exit_not_executable = 126;
constexpr int exit_not_found = 127;
constexpr int exit_of_signal = 128;  // what shells and mpirun add to a signal's number

Outcome outcome_of(EndReason reason) {
  switch (reason) {
    case EndReason::interval_reached:
    case EndReason::max_steps:
    case EndReason::cannot_win: return Outcome::ok;
    case EndReason::nan: return Outcome::nan;
    case EndReason::no_step_in_startup:
    case EndReason::no_step_in_stall: return Outcome::hang;
    case EndReason::total: return Outcome::timeout;
    case EndReason::preempted: return Outcome::preempted;
    case EndReason::cancelled: return Outcome::cancelled;
  }
  return Outcome::crashed;
}

Evidence evidence_of(const TrialEnd& end, const RankFailure& failure) {
  Evidence evidence;
  evidence.rank = failure.rank;
  evidence.node = failure.node;
  evidence.exit_code = failure.exit_code ? failure.exit_code : end.exit_code;
  evidence.signal = failure.signal ? failure.signal : end.signal;
  if (evidence.signal) evidence.exit_code.reset();
  if (evidence.exit_code && *evidence.exit_code > exit_of_signal &&
      *evidence.exit_code <= exit_of_signal + SIGRTMAX) {
    evidence.signal = *evidence.exit_code - exit_of_signal;
    evidence.exit_code.reset();
  }
  evidence.line = telling_line(end.lines);
  return evidence;
}

Classified ended_by_us(const TrialEnd& end) {
  const EndReason reason = *end.ended_by_us;
  Classified classified{outcome_of(reason), std::string(name_of(reason)), std::nullopt};
  if (classified.outcome == Outcome::ok && end.last_loss_is_bad) {
    classified = {Outcome::nan, std::string(name_of(EndReason::nan)), std::nullopt};
  }
  if (classified.outcome != Outcome::ok) {
    classified.evidence.emplace();
    classified.evidence->line = telling_line(end.lines);
  }
  return classified;
}

Classified exited_well(const TrialEnd& end) {
  if (end.last_loss_is_bad) {
    Classified classified{Outcome::nan, std::string(name_of(EndReason::nan)), Evidence{}};
    classified.evidence->exit_code = 0;
    classified.evidence->line = telling_line(end.lines);
    return classified;
  }
  if (end.has_interval) {
    const bool enough = end.measured_steps >= end.min_steps;
    return {Outcome::ok, enough ? "completed" : "ended_early", std::nullopt};
  }
  Classified classified{Outcome::config_error, "", Evidence{}};
  classified.evidence->exit_code = 0;
  if (end.steps_seen == 0) {
    classified.reason = "no_steps";
    classified.evidence->line =
        "the trial ended with exit code 0 and no step line was seen; see measure.source";
  } else {
    classified.reason = "too_few_steps";
    classified.evidence->line = fmt::format(
        "the trial ended with exit code 0 after {} step reports, too few to measure beyond the "
        "warm-up; let it run longer, or print its steps more often",
        end.steps_seen);
  }
  return classified;
}

Classified failed(const TrialEnd& end) {
  const RankFailure failure = read_launch_report(end.lines);
  Classified classified{Outcome::crashed, "", evidence_of(end, failure)};
  Evidence& evidence = *classified.evidence;
  const bool rank_failed = failure.exit_code || failure.signal;
  const FailureContext context{end.steps_seen > 0, rank_failed, evidence.exit_code};
  if (const auto match = match_failure(end.lines, context)) {
    classified.outcome = match->rule->outcome;
    classified.reason = fmt::format("rule:{}", match->rule->name);
    evidence.line = end.lines[match->line];
    if (!evidence.rank && match->line < end.line_ranks.size()) {
      evidence.rank = end.line_ranks[match->line];
    }
    return classified;
  }
  if (evidence.signal == SIGKILL && end.out_of_memory_kill) {
    classified.outcome = Outcome::host_oom;
    classified.reason = "rule:kernel-oom-kill";
    return classified;
  }
  const int code = evidence.exit_code.value_or(0);
  const bool not_run = code == exit_not_found || code == exit_not_executable;
  if (not_run && end.steps_seen == 0) {
    classified.outcome = Outcome::launch_error;
    classified.reason = fmt::format("exit {}", *evidence.exit_code);
  } else if (evidence.signal) {
    classified.reason = fmt::format("signal {}", *evidence.signal);
  } else {
    classified.reason = fmt::format("exit {}", evidence.exit_code.value_or(-1));
  }
  return classified;
}

}  // namespace

Classified classify(const TrialEnd& end) {
  if (end.not_started) {
    Classified classified{Outcome::launch_error, "exec", Evidence{}};
    classified.evidence->line = *end.not_started;
    return classified;
  }
  if (end.ended_by_us) return ended_by_us(end);
  if (end.exit_code == 0 && !end.rank_failed) return exited_well(end);
  return failed(end);
}

}  // namespace slurmtune
