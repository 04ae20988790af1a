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
/// Memory is looked at now and then, and what is refused was never used.
constexpr double near_the_limit = 0.9;

Outcome outcome_of(EndReason reason) {
  switch (reason) {
    case EndReason::interval_reached:
    case EndReason::max_steps:
    case EndReason::long_enough:
    case EndReason::cannot_win: return Outcome::ok;
    case EndReason::nan:
    case EndReason::overflow_storm: return Outcome::nan;
    case EndReason::no_step_in_startup:
    case EndReason::no_step_in_stall: return Outcome::hang;
    case EndReason::total: return Outcome::timeout;
    case EndReason::preempted: return Outcome::preempted;
    case EndReason::cancelled: return Outcome::cancelled;
  }
  return Outcome::crashed;
}

/// What the failing rank said last; anybody, if it said nothing.
std::string telling_line_of(const TrialEnd& end, std::optional<int> rank) {
  std::vector<std::string> own;
  for (std::size_t i = 0; i < end.lines.size(); ++i) {
    const bool known = rank && i < end.line_ranks.size() && end.line_ranks[i];
    if (!known || end.line_ranks[i] == rank) own.push_back(end.lines[i]);
  }
  return std::string(telling_line(own.empty() ? end.lines : own));
}

Evidence evidence_of(const TrialEnd& end, const RankFailure& failure) {
  Evidence evidence;
  evidence.rank = failure.rank;
  evidence.node = failure.node;
  const bool told = failure.exit_code || failure.signal;
  evidence.exit_code = told ? failure.exit_code : end.exit_code;
  evidence.signal = told ? failure.signal : end.signal;
  if (evidence.signal) evidence.exit_code.reset();
  if (evidence.exit_code && *evidence.exit_code > exit_of_signal &&
      *evidence.exit_code <= exit_of_signal + SIGRTMAX) {
    evidence.signal = *evidence.exit_code - exit_of_signal;
    evidence.exit_code.reset();
  }
  evidence.line = telling_line_of(end, evidence.rank);
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

bool memory_was_short(const TrialEnd& end) {
  return end.out_of_memory_kill || end.peak_host_fraction.value_or(0.0) >= near_the_limit;
}

/// What the status of the first rank that failed, the kernel's count and the memory curve tell by
/// themselves.
std::optional<std::string> host_oom_without_words(const TrialEnd& end, const Evidence& evidence) {
  if (evidence.signal != SIGKILL) return std::nullopt;
  if (end.out_of_memory_kill) return "rule:kernel-oom-kill";
  if (memory_was_short(end)) return "memory-curve";
  return std::nullopt;
}

void take_match(Classified& classified, const TrialEnd& end, const RuleMatch& match) {
  Evidence& evidence = *classified.evidence;
  classified.outcome = match.rule->outcome;
  classified.reason = fmt::format("rule:{}", match.rule->name);
  const std::string& line = end.lines[match.line];
  // That a rank aborted says less than what it said before.
  if (classified.outcome != Outcome::crashed || !is_launcher_line(line)) evidence.line = line;
  const bool known = match.line < end.line_ranks.size() && end.line_ranks[match.line];
  if (!known || evidence.rank == end.line_ranks[match.line]) return;
  // The cause was another rank's than the one that ended first; what is known of that one's end is
  // not its own.
  if (evidence.rank) evidence.node.clear();
  evidence.rank = end.line_ranks[match.line];
}

Classified failed(const TrialEnd& end) {
  const RankFailure failure = end.first_failure.value_or(read_launch_report(end.lines));
  Classified classified{Outcome::crashed, "", evidence_of(end, failure)};
  const Evidence& evidence = *classified.evidence;
  if (const auto reason = host_oom_without_words(end, evidence)) {
    classified.outcome = Outcome::host_oom;
    classified.reason = *reason;
    return classified;
  }
  FailureContext context;
  context.had_steps = end.steps_seen > 0;
  context.rank_failed = failure.exit_code || failure.signal;
  context.exit_code = evidence.exit_code;
  context.signal = evidence.signal;
  context.rank = evidence.rank;
  context.memory_short = memory_was_short(end);
  if (const auto match = match_failure(end.lines, end.line_ranks, context)) {
    take_match(classified, end, *match);
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
