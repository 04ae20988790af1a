// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "slurmtune/base/instant.hpp"
#include "slurmtune/base/time_window.hpp"
#include "slurmtune/record/verdict.hpp"

namespace slurmtune {

// Why a task has ended (TaskEnd::reason) before its experiments had.
inline constexpr std::string_view end_by_job = "no_time";
inline constexpr std::string_view end_by_window = "window";
inline constexpr std::string_view end_by_budget = "budget";
inline constexpr std::string_view end_by_deadline = "deadline";

/// How long before the deadline the guard begins; no task works longer, so that it finds a node.
inline constexpr std::chrono::minutes guard_margin{15};

/// True if the task gave up what it had left because the window of the study ended.
[[nodiscard]] bool ended_by_window(const Shard& shard);

/// One start of an array task, as far as it bounds how long it may work.
struct TaskRun {
  std::int64_t array_job = 0;
  std::int64_t slice = 0;
  int restart = 0;
  Instant started;
  std::optional<Instant> job_ends_by;
  std::int64_t walltime_s = 0;  ///< that the budget holds for the task, in all of its starts
  bool has_budget = false;
  std::optional<TimeWindow> window;
  std::optional<Instant> deadline;
};

/// Until when a task may work, and the reason of its end if that comes first.
struct TaskLimit {
  std::optional<Instant> ends_by;
  std::string_view reason = end_by_job;
};

/// The earliest of: the end of the job; the begin of the guard; the end of the window (at once
/// outside of it); under a budget, the walltime less what earlier starts of the same task used, so
/// that a task that is requeued never costs more than its worst case. `shards` may be of any tasks
/// of the stage.
[[nodiscard]] TaskLimit task_limit(const TaskRun& run, std::span<const Shard> shards);

/// Starts of a task of which there is no shard: they may have hung before they could write a line,
/// and may as well never have been launched (a node that drains, a prolog that fails).
enum class SilentStarts { charged, free };

/// Seconds that all starts of an array task before start `before` used, at worst. One without
/// task_end is charged until the next one began, but not above the walltime; one that left no shard
/// is charged the walltime, but not more than lies between those before and after it.
[[nodiscard]] std::int64_t used_by_starts(std::int64_t array_job, std::int64_t slice, int before,
                                          Instant until, std::int64_t walltime_s,
                                          std::span<const Shard> shards,
                                          SilentStarts silent_starts = SilentStarts::charged);

}  // namespace slurmtune
