// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/base/instant.hpp"
#include "slurmtune/input/site.hpp"
#include "slurmtune/record/manifest.hpp"
#include "slurmtune/runner/start/environment.hpp"
#include "slurmtune/study/task_time.hpp"

namespace slurmtune {

/// Where and as what this array task runs, as the batch system told it.
struct TaskSetting {
  std::int64_t array_job = 0;
  std::int64_t task = 0;
  std::int64_t array_tasks = 1;  ///< of the whole array, as it was submitted
  int restart = 0;
  bool in_slurm_job = false;
  std::vector<std::string> nodes;  ///< of the runner's ranks, in rank order
  int allocated_nodes = 1;
  int gpus = 0;                              ///< over all nodes
  Instant started;                           ///< of the task: node-seconds count from here
  std::optional<Instant> ends_by;            ///< of the job, or sooner: see `bounded`
  std::string_view end_reason = end_by_job;  ///< what is over then: TaskEnd::reason
};

/// Reads the setting from the environment.
/// - array job: SLURMTUNE_JOB (a scheduler of ours), else SLURM_ARRAY_JOB_ID, else SLURM_JOB_ID;
///   task: SLURMTUNE_TASK, else SLURM_ARRAY_TASK_ID, else 0; restart: SLURM_RESTART_COUNT;
///   tasks: SLURM_ARRAY_TASK_COUNT, else 1.
/// - end: SLURM_JOB_END_TIME, else the task's start and the manifest's walltime if Slurm runs us.
/// - start: SLURMTUNE_STARTED (the job script's first line), else `now`.
/// Errors: invalid_input if no job is told, or a number is none.
[[nodiscard]] Expected<TaskSetting> task_setting(const Environment& environment,
                                                 const Manifest& manifest, const Site& site,
                                                 std::vector<std::string> nodes, Instant now);

/// How a study bounds its tasks.
struct StudyBounds {
  std::optional<TimeWindow> window;
  std::optional<Instant> deadline;
  bool has_budget = false;
};

/// The setting with its end as the study bounds it: not after budget.window and the deadline, and
/// under a budget no later than what earlier starts of the same task have left
/// (study/task_time.hpp).
[[nodiscard]] TaskSetting bounded(TaskSetting setting, std::int64_t slice, const Manifest& manifest,
                                  const StudyBounds& bounds, std::span<const Shard> shards);

/// Seconds in which a trial has to end, so that time is left to write what is left to write;
/// nothing where the task has no end.
[[nodiscard]] std::optional<double> trial_seconds_left(const TaskSetting& setting, Instant now);

}  // namespace slurmtune
