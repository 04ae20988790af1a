// SPDX-License-Identifier: MIT
#include "slurmtune/runner/task_setting.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>
#include <initializer_list>
#include <utility>

#include <fmt/format.h>

namespace slurmtune {

namespace {

/// The first of `names` that is set, as a number.
Expected<std::optional<std::int64_t>> number(const Environment& environment,
                                             std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto text = variable(environment, name);
    if (!text || text->empty()) continue;
    std::int64_t value = 0;
    const char* end = text->data() + text->size();
    const auto [after, problem] = std::from_chars(text->data(), end, value);
    if (problem != std::errc{} || after != end) {
      return invalid_input(fmt::format("environment: {}='{}' is no integer", name, *text));
    }
    return value;
  }
  return std::nullopt;
}

Instant at_epoch_s(std::int64_t seconds) { return Instant(std::chrono::seconds(seconds)); }

}  // namespace

Expected<TaskSetting> task_setting(const Environment& environment, const Manifest& manifest,
                                   const Site& site, std::vector<std::string> nodes, Instant now) {
  TaskSetting setting;
  SLURMTUNE_TRY(const auto job,
                number(environment, {"SLURMTUNE_JOB", "SLURM_ARRAY_JOB_ID", "SLURM_JOB_ID"}));
  if (!job) {
    return invalid_input(
        "no job: run it by the study's job scripts, or set SLURMTUNE_JOB to a number that no "
        "other run of this stage has");
  }
  setting.array_job = *job;
  SLURMTUNE_TRY(const auto task, number(environment, {"SLURMTUNE_TASK", "SLURM_ARRAY_TASK_ID"}));
  setting.task = task.value_or(0);
  SLURMTUNE_TRY(const auto tasks, number(environment, {"SLURM_ARRAY_TASK_COUNT"}));
  setting.array_tasks = std::max<std::int64_t>(tasks.value_or(1), setting.task + 1);
  SLURMTUNE_TRY(const auto restart, number(environment, {"SLURM_RESTART_COUNT"}));
  setting.restart = static_cast<int>(std::clamp<std::int64_t>(restart.value_or(0), 0, 9'999));
  setting.in_slurm_job = environment.contains("SLURM_JOB_ID");

  setting.nodes = std::move(nodes);
  const auto node_count = static_cast<std::int64_t>(setting.nodes.size());
  SLURMTUNE_TRY(const auto allocated, number(environment, {"SLURM_JOB_NUM_NODES"}));
  setting.allocated_nodes = static_cast<int>(std::max(allocated.value_or(1), node_count));
  SLURMTUNE_TRY(const auto gpus, number(environment, {"SLURM_GPUS_ON_NODE"}));
  setting.gpus =
      static_cast<int>(gpus.value_or(site.gpus_per_node.value_or(0)) * setting.allocated_nodes);

  SLURMTUNE_TRY(const auto started, number(environment, {"SLURMTUNE_STARTED"}));
  setting.started = started ? std::min(at_epoch_s(*started), now) : now;
  SLURMTUNE_TRY(const auto ends_by, number(environment, {"SLURM_JOB_END_TIME"}));
  if (ends_by) {
    setting.ends_by = at_epoch_s(*ends_by);
  } else if (setting.in_slurm_job && manifest.task_walltime_s > 0) {
    setting.ends_by = setting.started + std::chrono::seconds(manifest.task_walltime_s);
  }
  return setting;
}

TaskSetting bounded(TaskSetting setting, std::int64_t slice, const Manifest& manifest,
                    const StudyBounds& bounds, std::span<const Shard> shards) {
  const TaskLimit limit = task_limit({.array_job = setting.array_job,
                                      .slice = slice,
                                      .restart = setting.restart,
                                      .started = setting.started,
                                      .job_ends_by = setting.ends_by,
                                      .walltime_s = manifest.task_walltime_s,
                                      .has_budget = bounds.has_budget,
                                      .window = bounds.window,
                                      .deadline = bounds.deadline},
                                     shards);
  setting.ends_by = limit.ends_by;
  setting.end_reason = limit.reason;
  return setting;
}

std::optional<double> trial_seconds_left(const TaskSetting& setting, Instant now) {
  constexpr std::chrono::seconds end_margin{20};
  if (!setting.ends_by) return std::nullopt;
  return std::chrono::duration<double>(*setting.ends_by - end_margin - now).count();
}

}  // namespace slurmtune
