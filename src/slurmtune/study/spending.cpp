// SPDX-License-Identifier: MIT
#include "slurmtune/study/spending.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "slurmtune/plan/budget.hpp"
#include "slurmtune/study/task_time.hpp"

namespace slurmtune {

namespace {

/// The last start of each array task, by array job and slice.
using LastStarts = std::map<std::pair<std::int64_t, std::int64_t>, const Shard*>;

LastStarts last_starts(const StageView& stage) {
  LastStarts last;
  for (const Shard& shard : stage.shards) {
    const Shard*& known = last[{shard.start.array_job, shard.start.slice}];
    if (known == nullptr || known->start.restart <= shard.start.restart) known = &shard;
  }
  return last;
}

std::int64_t of_shards(const StudyView& view, std::size_t index, const LastStarts& last) {
  const StageView& stage = view.stages[index];
  // Only what is yet to be spent has to be kept from exceeding a budget.
  const bool at_worst = view.plan.budget_node_seconds && !view.state.finished;
  const auto silent = at_worst ? SilentStarts::charged : SilentStarts::free;
  const std::int64_t walltime = stage.manifest ? stage.manifest->task_walltime_s : 0;
  std::int64_t spent = 0;
  for (const auto& [task, shard] : last) {
    const TaskStart& start = shard->start;
    spent += shard->end ? shard->end->node_seconds : walltime * start.allocated_nodes;
    spent += start.allocated_nodes * used_by_starts(task.first, task.second, start.restart,
                                                    start.at, walltime, stage.shards, silent);
  }
  return spent;
}

/// Tasks that are over and of which nobody has heard.
std::int64_t of_silent_tasks(const StudyView& view, std::size_t index, const LastStarts& last) {
  const StageView& stage = view.stages[index];
  if (!view.plan.budget_node_seconds || !view.live_jobs || !stage.manifest) return 0;
  std::int64_t silent = 0;
  const auto slices = static_cast<std::int64_t>(stage.manifest->slices.size());
  const PlannedStage& planned = view.plan.stages[index];
  for (const JobRecord* job : view.state.jobs_of(planned.name, JobKind::array)) {
    if (view.is_live(*job) || job->gone || job->job == view.own_job) continue;
    const std::int64_t end = std::min(slices, job->first_slice + job->tasks.value_or(1));
    for (std::int64_t slice = job->first_slice; slice < end; ++slice) {
      if (!last.contains({*job->job, slice})) silent += 1;
    }
  }
  return silent * planned.nodes_per_task * stage.manifest->task_walltime_s;
}

bool is_lone(const JobRecord& job) {
  return job.kind == JobKind::reducer || job.kind == JobKind::guard || job.kind == JobKind::final;
}

}  // namespace

std::int64_t spent_node_seconds(const StudyView& view) {
  std::int64_t spent = 0;
  for (std::size_t i = 0; i < view.stages.size(); ++i) {
    const LastStarts last = last_starts(view.stages[i]);
    spent += of_shards(view, i, last) + of_silent_tasks(view, i, last);
  }
  return spent;
}

std::int64_t overhead_node_seconds(const StudyView& view) {
  if (!view.plan.budget_node_seconds) return 0;
  const std::int64_t submitted = std::count_if(
      view.state.jobs.begin(), view.state.jobs.end(),
      [&](const JobRecord& job) { return job.job && is_lone(job) && !view.is_live(job); });
  const std::size_t current = current_stage(view);
  const auto to_come = static_cast<std::int64_t>(view.plan.stages.size() - current);
  // Those that are over were planned, too, unless some were submitted again.
  const std::int64_t again =
      submitted + to_come - static_cast<std::int64_t>(view.plan.stages.size());
  return overhead_of(view.plan) +
         std::max<std::int64_t>(0, again) * view.plan.lone_job_node_seconds;
}

std::optional<std::int64_t> tasks_within_budget(const StudyView& view, std::size_t stage) {
  if (!view.plan.budget_node_seconds) return std::nullopt;
  const PlannedStage& planned = view.plan.stages[stage];
  const auto& manifest = view.stages[stage].manifest;
  const std::int64_t walltime = manifest ? manifest->task_walltime_s : planned.task_walltime_s;
  const std::int64_t left = *view.plan.budget_node_seconds - spent_node_seconds(view) -
                            overhead_node_seconds(view) -
                            confirm_reserve(view.plan, stage).node_seconds;
  return std::max<std::int64_t>(0, left) /
         std::max<std::int64_t>(1, planned.nodes_per_task * walltime);
}

StudyInput with_extension(StudyInput input, const Extended& extension) {
  BudgetSpec& budget = input.spec.budget;
  if (extension.max_node_hours) budget.max_node_hours = extension.max_node_hours;
  if (extension.max_gpu_hours) budget.max_gpu_hours = extension.max_gpu_hours;
  if (extension.max_experiments) budget.max_experiments = extension.max_experiments;
  return input;
}

}  // namespace slurmtune
