// SPDX-License-Identifier: MIT
#include "slurmtune/study/endings.hpp"

#include <array>

#include <fmt/core.h>

namespace slurmtune {

namespace {

constexpr std::array<EndingRule, 14> rules{{
    {TaskEnding::never_began, "never_began", "never began", Outcome::not_started, Remedy::again},
    {TaskEnding::runner_died, "runner_died", "the runner died", Outcome::not_started,
     Remedy::again},
    {TaskEnding::ended_before, "ended_before", "ended before it", Outcome::not_started,
     Remedy::again},
    {TaskEnding::completed, "completed", "COMPLETED", Outcome::not_started, Remedy::again},
    {TaskEnding::failed, "failed", "FAILED", Outcome::not_started, Remedy::again},
    {TaskEnding::timed_out, "timed_out", "TIMEOUT", Outcome::preempted, Remedy::longer},
    {TaskEnding::deadline, "deadline", "DEADLINE", Outcome::not_started, Remedy::give_up},
    {TaskEnding::node_failed, "node_failed", "NODE_FAIL", Outcome::node_failure, Remedy::elsewhere},
    {TaskEnding::boot_failed, "boot_failed", "BOOT_FAIL", Outcome::node_failure, Remedy::elsewhere},
    {TaskEnding::preempted, "preempted", "PREEMPTED", Outcome::preempted, Remedy::again},
    {TaskEnding::out_of_memory, "out_of_memory", "OUT_OF_MEMORY", Outcome::host_oom, Remedy::again},
    {TaskEnding::cancelled_by_owner, "cancelled_by_owner", "CANCELLED by the study's owner",
     Outcome::cancelled, Remedy::give_up},
    {TaskEnding::cancelled_by_other, "cancelled_by_other", "CANCELLED by another user",
     Outcome::cancelled, Remedy::again},
    {TaskEnding::cancelled, "cancelled", "CANCELLED", Outcome::cancelled, Remedy::again},
}};

TaskEnding cancelled_by(CancelledBy who) {
  switch (who) {
    case CancelledBy::owner: return TaskEnding::cancelled_by_owner;
    case CancelledBy::other: return TaskEnding::cancelled_by_other;
    case CancelledBy::unknown: break;
  }
  return TaskEnding::cancelled;
}

}  // namespace

std::span<const EndingRule> ending_rules() { return rules; }

const EndingRule& rule_of(TaskEnding ending) {
  const auto index = static_cast<std::size_t>(ending);
  SLURMTUNE_ASSERT(index < rules.size());
  return rules[index];
}

std::optional<TaskEnding> ending_of(const JobReport& report) {
  switch (report.state) {
    case JobState::completed: return TaskEnding::completed;
    case JobState::failed: return TaskEnding::failed;
    case JobState::timed_out: return TaskEnding::timed_out;
    case JobState::deadline: return TaskEnding::deadline;
    case JobState::node_failed: return TaskEnding::node_failed;
    case JobState::boot_failed: return TaskEnding::boot_failed;
    case JobState::preempted: return TaskEnding::preempted;
    case JobState::out_of_memory: return TaskEnding::out_of_memory;
    case JobState::cancelled: return cancelled_by(report.cancelled_by);
    case JobState::pending:
    case JobState::requeued:
    case JobState::requeued_held:
    case JobState::running:
    case JobState::suspended:
    case JobState::unknown: break;
  }
  return std::nullopt;
}

std::optional<TaskEnding> task_ending_named(std::string_view key) {
  for (const EndingRule& rule : rules) {
    if (rule.key == key) return rule.ending;
  }
  return std::nullopt;
}

std::optional<EndedTask> ended_task(const JobReport& report) {
  const auto ending = ending_of(report);
  if (!ending || !report.task) return std::nullopt;
  return EndedTask{.task = *report.task,
                   .ending = *ending,
                   .exit_code = report.exit_code,
                   .signal = report.signal,
                   .nodes = report.nodes};
}

std::string words_of(const EndedTask& task, std::int64_t walltime_s) {
  std::string words(rule_of(task.ending).name);
  if (task.ending == TaskEnding::timed_out && walltime_s > 0) {
    words += fmt::format(" after {} min", (walltime_s + 59) / 60);
  }
  if (task.ending != TaskEnding::failed) return words;
  if (task.signal) return words + fmt::format(", signal {}", *task.signal);
  if (task.exit_code) return words + fmt::format(", exit code {}", *task.exit_code);
  return words;
}

}  // namespace slurmtune
