// SPDX-License-Identifier: MIT
#include "slurmtune/plan/budget.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/generate/task_time.hpp"
#include "slurmtune/plan/site_rules.hpp"

namespace slurmtune {

namespace {

constexpr double hour_s = 3600.0;
/// What a reducer likely takes, from its start to its end.
constexpr std::int64_t likely_reducer_s = 10;

/// What a task takes before its first line and after its last, and one whose slice is empty at all.
constexpr std::int64_t task_overhead_s = 5;

/// Reducer, and what its tasks take besides their work.
std::int64_t overhead_of(const PlannedStage& stage, const Plan& plan) {
  return plan.lone_job_node_seconds + stage.tasks_max * stage.nodes_per_task * task_overhead_s;
}

/// What the stages that cannot be left out may take from one on, with their reducers.
std::int64_t worst_of_mandatory(const Plan& plan, std::size_t from) {
  std::int64_t worst = 0;
  for (std::size_t i = from; i < plan.stages.size(); ++i) {
    const PlannedStage& stage = plan.stages[i];
    if (stage.mandatory) worst += stage.worst_node_seconds + overhead_of(stage, plan);
  }
  return worst;
}

/// Where the tighter of max_node_hours and max_gpu_hours stands.
std::string where_hours(const StudyInput& input) {
  const BudgetSpec& budget = input.spec.budget;
  const bool by_gpus = budget.max_gpu_hours &&
                       (!budget.max_node_hours ||
                        *budget.max_gpu_hours / gpus_of_node(input) < *budget.max_node_hours);
  return input.spec.where(by_gpus ? budget.max_gpu_hours_line : budget.max_node_hours_line);
}

tl::unexpected<Error> over_budget(const StudyInput& input, const Plan& plan, std::int64_t worst) {
  std::string stages;
  for (const PlannedStage& stage : plan.stages) {
    if (!stage.mandatory) continue;
    stages += fmt::format("{}{} {}", stages.empty() ? "" : ", ", stage.name.text,
                          format_node_hours(stage.worst_node_seconds));
  }
  if (plan.lone_job_node_seconds > 0) stages += ", their reducers, guard and final";
  return invalid_input(fmt::format(
      "{}: the stages that cannot be left out may take {} ({}), but the budget is {}; raise "
      "max_node_hours (or max_gpu_hours), or lower measure.startup_s, measure.total_s, "
      "search.width or trial.nodes",
      where_hours(input), format_node_hours(worst), stages,
      format_node_hours(*plan.budget_node_seconds)));
}

/// if_over = "refuse": the plan must fit as a whole.
Expected<void> refuse_over(const StudyInput& input, const Plan& plan) {
  const std::int64_t all = plan.asked_node_seconds + overhead_of(plan);
  if (all <= *plan.budget_node_seconds) return {};
  return invalid_input(fmt::format(
      "{}: all stages may take {} at worst, but the budget is {} and if_over is \"refuse\"; raise "
      "max_node_hours (or max_gpu_hours), lower measure.startup_s, measure.total_s, search.width "
      "or search.rounds, or write if_over = \"trim\"",
      where_hours(input), format_node_hours(all), format_node_hours(*plan.budget_node_seconds)));
}

/// Makes a stage so narrow that its worst case is not above `node_seconds`; false if it cannot be.
bool narrow(PlannedStage& stage, std::int64_t node_seconds, const TaskRules& rules) {
  if (stage.worst_node_seconds <= node_seconds) return true;
  const std::int64_t per_task = (stage.experiments_max + stage.tasks_max - 1) / stage.tasks_max;
  std::int64_t tasks = node_seconds / (stage.nodes_per_task * stage.task_walltime_s);
  std::int64_t experiments = std::min(stage.experiments_max, tasks * per_task);
  if (tasks == 0) {  // not even one task: a shorter one, with fewer experiments
    const std::int64_t walltime = node_seconds / stage.nodes_per_task / 60 * 60;
    experiments = std::min(experiments_that_fit(walltime, rules.lanes, rules.limits), per_task);
    if (experiments <= 0) return false;
    tasks = 1;
    stage.task_walltime_s = task_walltime_s(experiments, rules.lanes, rules.limits);
  }
  const double share =
      static_cast<double>(experiments) / static_cast<double>(stage.experiments_max);
  stage.experiments_max = experiments;
  stage.tasks_max = tasks;
  stage.tasks_at_once = std::min(stage.tasks_at_once, tasks);
  stage.worst_node_seconds = tasks * stage.nodes_per_task * stage.task_walltime_s;
  stage.likely_experiments = std::min(stage.likely_experiments, experiments);
  stage.likely_node_seconds =
      std::min<std::int64_t>(stage.worst_node_seconds,
                             std::llround(static_cast<double>(stage.likely_node_seconds) * share));
  return true;
}

}  // namespace

int gpus_of_node(const StudyInput& input) {
  return std::max(1, input.site.gpus_per_node.value_or(input.spec.trial.processes_per_node *
                                                       input.spec.lanes_per_node));
}

std::optional<std::int64_t> budget_node_seconds(const StudyInput& input) {
  const BudgetSpec& budget = input.spec.budget;
  std::optional<double> seconds;
  if (budget.max_node_hours) seconds = *budget.max_node_hours * hour_s;
  if (budget.max_gpu_hours) {
    const double by_gpus = *budget.max_gpu_hours * hour_s / gpus_of_node(input);
    seconds = std::min(seconds.value_or(by_gpus), by_gpus);
  }
  if (!seconds) return std::nullopt;
  return static_cast<std::int64_t>(std::floor(*seconds));
}

std::int64_t overhead_of(const Plan& plan) {
  std::int64_t overhead = jobs_beside_stages * plan.lone_job_node_seconds;
  for (const PlannedStage& stage : plan.stages) overhead += overhead_of(stage, plan);
  return overhead;
}

std::int64_t planned_worst(const Plan& plan) {
  std::int64_t worst = overhead_of(plan);
  for (const PlannedStage& stage : plan.stages) worst += stage.worst_node_seconds;
  return worst;
}

ConfirmReserve confirm_reserve(const Plan& plan, std::size_t index) {
  for (std::size_t i = index + 1; i < plan.stages.size(); ++i) {
    const PlannedStage& stage = plan.stages[i];
    if (stage.kind != Purpose::confirm || stage.round != 0) continue;
    return {.node_seconds = stage.worst_node_seconds, .experiments = stage.experiments_max};
  }
  return {};
}

GraphTime graph_time(const Plan& plan) {
  GraphTime time;
  for (const PlannedStage& stage : plan.stages) {
    const std::int64_t at_once = std::max<std::int64_t>(1, stage.tasks_at_once);
    const std::int64_t waves = (stage.tasks_max + at_once - 1) / at_once;
    time.worst_s += waves * stage.task_walltime_s + plan.reducer_walltime_s;
    const std::int64_t nodes = stage.nodes_per_task * std::min(at_once, stage.tasks_max);
    time.likely_s += stage.likely_node_seconds / std::max<std::int64_t>(1, nodes);
    if (stage.likely_experiments > 0) time.likely_s += likely_reducer_s;
  }
  time.worst_s += plan.reducer_walltime_s;  // final
  return time;
}

Expected<void> fit_experiments(const StudyInput& input, StageTable& table) {
  const auto cap = input.spec.budget.max_experiments;
  if (!cap) return {};
  std::int64_t all = 0;
  for (const StageDraft& draft : table.stages) all += draft.experiments;
  if (all > *cap && input.spec.budget.if_over == OverBudget::refuse) {
    return invalid_input(fmt::format(
        "{}: the study may run {} experiments, but budget.max_experiments is {} and if_over is "
        "\"refuse\"; raise it, lower search.width or search.rounds, or write if_over = \"trim\"",
        input.spec.where(input.spec.budget.max_experiments_line), all, *cap));
  }
  std::int64_t left = *cap;
  for (const StageDraft& draft : table.stages) left -= draft.mandatory ? draft.experiments : 0;
  if (left < 0) {
    return invalid_input(fmt::format(
        "{}: the stages that cannot be left out may run {} experiments, but "
        "budget.max_experiments is {}; raise it, or lower search.width or narrow the space",
        input.spec.where(input.spec.budget.max_experiments_line), *cap - left, *cap));
  }
  std::vector<StageDraft> kept;
  for (StageDraft& draft : table.stages) {
    if (!draft.mandatory) {
      if (left > 0 && left < draft.experiments) {
        table.pruned.push_back(
            {fmt::format("stage {} {}: {} of {} experiments", name_of(draft.kind), draft.round + 1,
                         draft.experiments - left, draft.experiments),
             fmt::format("budget.max_experiments is {}", *cap)});
      }
      draft.experiments = std::min(draft.experiments, left);
      draft.likely_experiments = std::min(draft.likely_experiments, draft.experiments);
      left -= draft.experiments;
    }
    if (draft.experiments > 0) {
      kept.push_back(draft);
    } else {
      table.pruned.push_back({fmt::format("stage {} {}", name_of(draft.kind), draft.round + 1),
                              fmt::format("budget.max_experiments is {}", *cap)});
    }
  }
  table.stages = std::move(kept);
  return {};
}

Expected<void> fit_budget(const StudyInput& input, const TaskRules& rules, Plan& plan) {
  if (!plan.budget_node_seconds) return {};
  const std::int64_t beside = jobs_beside_stages * plan.lone_job_node_seconds;
  const std::int64_t budget = *plan.budget_node_seconds - beside;
  const std::int64_t worst = worst_of_mandatory(plan, 0);
  if (worst > budget) return over_budget(input, plan, worst + beside);
  if (input.spec.budget.if_over == OverBudget::refuse) SLURMTUNE_CHECK(refuse_over(input, plan));
  std::vector<PlannedStage> kept;
  std::int64_t likely_before = 0;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    PlannedStage stage = plan.stages[i];
    const std::int64_t experiments = stage.experiments_max;
    const std::int64_t left =
        budget - likely_before - worst_of_mandatory(plan, i + 1) - overhead_of(stage, plan);
    if (!stage.mandatory && !narrow(stage, left, rules)) {
      plan.pruned.push_back(
          {fmt::format("stage {} {}", name_of(stage.kind), stage.round + 1),
           fmt::format("the budget leaves {} for it at most, one experiment may take {}",
                       format_node_hours(std::max<std::int64_t>(0, left)),
                       format_node_hours(stage.nodes_per_task *
                                         task_walltime_s(1, rules.lanes, rules.limits)))});
      continue;
    }
    if (stage.experiments_max < experiments) {
      plan.pruned.push_back(
          {fmt::format("stage {} {}: {} of {} experiments", name_of(stage.kind), stage.round + 1,
                       experiments - stage.experiments_max, experiments),
           fmt::format("the budget leaves {} for it at most", format_node_hours(left))});
    }
    stage.name = {fmt::format("{:02}-{}", kept.size() + 1, name_of(stage.kind))};
    likely_before += stage.likely_node_seconds + overhead_of(stage, plan);
    kept.push_back(std::move(stage));
  }
  plan.stages = std::move(kept);
  return {};
}

}  // namespace slurmtune
