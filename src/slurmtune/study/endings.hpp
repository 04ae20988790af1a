// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "slurmtune/record/outcome.hpp"
#include "slurmtune/study/scheduler.hpp"

namespace slurmtune {

/// How a task of an array ended that left experiments without a verdict.
enum class TaskEnding {
  never_began,   ///< no trace of it: cancelled while it waited, or forgotten
  runner_died,   ///< it began, and nobody tells more
  ended_before,  ///< it wrote its end, and not what became of all its experiments
  completed,
  failed,
  timed_out,
  deadline,
  node_failed,
  boot_failed,
  preempted,
  out_of_memory,
  cancelled_by_owner,
  cancelled_by_other,
  cancelled,  ///< nobody tells by whom
};

/// What is done about the experiments that such a task left without a verdict.
enum class Remedy {
  again,      ///< proposed again in a later stage
  elsewhere,  ///< the same, and not on a node that failed so twice
  longer,     ///< the same; if its set-up took all of its time, a task needs more of it
  give_up,    ///< not proposed again, and the result says so
};

/// One row of the table of endings; the documentation is checked against it.
struct EndingRule {
  TaskEnding ending;
  std::string_view key;   ///< as the journal has it
  std::string_view name;  ///< Slurm's word where it has one
  /// Of an experiment that ran as the task ended. Those that had not begun are `not_started`.
  Outcome outcome;
  Remedy remedy;
};

/// All rows, in the order of the enum.
[[nodiscard]] std::span<const EndingRule> ending_rules();
[[nodiscard]] const EndingRule& rule_of(TaskEnding ending);

/// What the batch system says of a task that is over; nothing for one that is not.
[[nodiscard]] std::optional<TaskEnding> ending_of(const JobReport& report);

[[nodiscard]] std::optional<TaskEnding> task_ending_named(std::string_view key);

/// A task as the journal keeps it: what the batch system said of it, which forgets.
struct EndedTask {
  std::int64_t task = 0;
  TaskEnding ending = TaskEnding::never_began;
  std::optional<std::int64_t> exit_code{};  ///< of its script
  std::optional<std::int64_t> signal{};
  std::string nodes{};  ///< Slurm's list

  bool operator==(const EndedTask&) const = default;
};

/// Nothing for a report of something that is not over, or no task of an array.
[[nodiscard]] std::optional<EndedTask> ended_task(const JobReport& report);

/// How a task ended, for people and for decisions: it holds no job, node or time of day.
/// `FAILED, exit code 3`, `TIMEOUT after 30 min`, `CANCELLED by another user`.
[[nodiscard]] std::string words_of(const EndedTask& task, std::int64_t walltime_s);

}  // namespace slurmtune
