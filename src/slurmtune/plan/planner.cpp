// SPDX-License-Identifier: MIT
#include "slurmtune/plan/planner.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/generate/trial.hpp"
#include "slurmtune/plan/budget.hpp"
#include "slurmtune/plan/listed_knobs.hpp"
#include "slurmtune/plan/objective_names.hpp"
#include "slurmtune/plan/packing.hpp"
#include "slurmtune/plan/shape.hpp"
#include "slurmtune/plan/site_rules.hpp"
#include "slurmtune/plan/stage_table.hpp"
#include "slurmtune/space/global_batch.hpp"
#include "slurmtune/space/space.hpp"

namespace slurmtune {

namespace {

/// Jobs that the graph has besides arrays and their reducers: guard and final.
constexpr std::int64_t lone_jobs = jobs_beside_stages;
/// What a reducer likely takes, from its start to its end.
constexpr std::int64_t likely_lone_job_s = 10;
/// What a task likely takes besides its experiments.
constexpr double likely_task_start_s = 20.0;

/// Finds out whether trials can be started at all, before anybody waits in a queue for it.
Expected<void> check_trials(const StudySpec& spec, const Space& space) {
  const TrialPlace place{.work = "/trial",
                         .ds_config = spec.deepspeed ? "/trial/ds_config.json" : "",
                         .workdir = "/",
                         .nodes = spec.trial.nodes,
                         .processes = static_cast<int>(spec.ranks()),
                         .master_addr = "n1",
                         .master_port = 1};
  SLURMTUNE_CHECK(render_trial(spec, space.baseline(), place));
  for (const ParameterSpec& parameter : spec.parameters) {
    const std::string placeholder = "{p:" + parameter.name + "}";
    const auto speaks = [&](const std::string& text) {
      return text.find(placeholder) != std::string::npos;
    };
    const TrialSpec& trial = spec.trial;
    const bool used = !parameter.target.empty() ||
                      std::any_of(trial.command.begin(), trial.command.end(), speaks) ||
                      std::any_of(trial.container.begin(), trial.container.end(), speaks) ||
                      std::any_of(trial.env.begin(), trial.env.end(),
                                  [&](const auto& entry) { return speaks(entry.second); });
    if (used) continue;
    return invalid_input(fmt::format(
        "{}:{}: parameter '{}' goes nowhere: trials would not differ in it; give it a target "
        "(arg:--flag, env:NAME, json:PATH) or write {} in trial.command",
        spec.path, parameter.line, parameter.name, placeholder));
  }
  return {};
}

PlannedStage planned_stage(const Shaped& stage, std::size_t number, const StudyInput& input,
                           const TaskRules& rules) {
  const StageDraft& draft = stage.draft;
  PlannedStage planned;
  planned.name = {fmt::format("{:02}-{}", number, name_of(draft.kind))};
  planned.kind = draft.kind;
  planned.round = draft.round;
  planned.mandatory = draft.mandatory;
  planned.experiments_max = draft.experiments;
  planned.tasks_max = stage.shape.tasks;
  planned.tasks_at_once = stage.shape.tasks;
  if (const auto nodes = input.spec.budget.max_concurrent_nodes) {
    planned.tasks_at_once =
        std::min<std::int64_t>(stage.shape.tasks, *nodes / rules.nodes_per_task);
  }
  planned.tasks_at_once =
      std::min(planned.tasks_at_once, input.site.running_jobs_max.value_or(stage.shape.tasks));
  planned.nodes_per_task = rules.nodes_per_task;
  planned.task_walltime_s = stage.shape.walltime_s;
  planned.worst_node_seconds = stage.shape.worst_node_seconds(rules.nodes_per_task);
  planned.likely_experiments = std::min(draft.likely_experiments, draft.experiments);
  const auto experiments = static_cast<double>(planned.likely_experiments);
  const double tasks = planned.likely_experiments == 0
                           ? 0.0
                           : std::min(static_cast<double>(stage.shape.tasks), experiments);
  const double likely_s =
      experiments * rules.likely_trial_s / rules.lanes + tasks * likely_task_start_s;
  planned.likely_node_seconds = std::min<std::int64_t>(
      planned.worst_node_seconds, std::llround(likely_s * rules.nodes_per_task));
  return planned;
}

Expected<void> check_concurrency(const StudyInput& input, const TaskRules& rules) {
  const auto nodes = input.spec.budget.max_concurrent_nodes;
  if (!nodes || *nodes >= rules.nodes_per_task) return {};
  return invalid_input(fmt::format(
      "{}: budget.max_concurrent_nodes is {}, but one task holds {} nodes (trial.nodes x lanes); "
      "raise it or lower trial.nodes or slurm.lanes",
      input.spec.where(input.spec.budget.max_concurrent_nodes_line), *nodes, rules.nodes_per_task));
}

/// What the global batch leaves of the micro-batches, where it is not what the user may expect.
void add_batch_note(const StudySpec& spec, const Space& space, Plan& plan) {
  const BatchSpec& batch = spec.batch;
  if (!spec.deepspeed || !space.global_batch() || !batch.micro_batches.empty()) return;
  const std::int64_t ranks = spec.data_parallel();
  const std::int64_t global = *space.global_batch();
  const std::int64_t samples = global / ranks;
  if (!batch.global) {
    const std::int64_t most = *batch.max_global / ranks * ranks;
    if (global == most) return;
    plan.notes.push_back(
        fmt::format("the global batch is {}: {} is within the limit of {} too, but few "
                    "micro-batches divide it; batch.global = {} has it",
                    global, most, batch.where, most));
    return;
  }
  if (has_close_divisors(samples, batch.micro_batch_cap)) return;
  const std::int64_t other = largest_with_close_divisors(samples, batch.micro_batch_cap) * ranks;
  plan.notes.push_back(
      fmt::format("few micro-batches divide the constant global batch {} ({}): a global batch of "
                  "{} leaves more to choose from",
                  global, batch.where, other));
}

/// What the plan does not do though the study may seem to ask for it.
void add_notes(const StudyInput& input, const Space& space, Plan& plan) {
  const StudySpec& spec = input.spec;
  plan.notes = spec.notes;
  add_batch_note(spec, space, plan);
  if (resolved_strategy(spec) != StrategyKind::deepspeed) return;
  if (spec.deepspeed->fast && !spec.parameters.empty()) {
    plan.notes.emplace_back(
        "the [[parameter]]s stay as in the baseline: with fast = true, strategy deepspeed tunes "
        "ZeRO stage and batch; fast = false tunes them after these, search.strategy = \"grid\" "
        "varies them all");
  }
}

/// The job that mode = "run" ends with.
Expected<std::optional<PlannedLaunch>> planned_launch(const StudyInput& input) {
  if (input.spec.mode != StudyMode::run) return std::nullopt;
  const TrainingSpec& training = input.spec.training;
  const std::int64_t most = input.site.walltime_max_s;
  if (training.walltime_s.value_or(0) > most) {
    return invalid_input(
        fmt::format("{}:{}: training.walltime_minutes is {:g}, but no job of the site may take "
                    "more than {:g} (walltime_max_s); lower it",
                    input.spec.path, training.line, static_cast<double>(*training.walltime_s) / 60,
                    static_cast<double>(most) / 60));
  }
  return PlannedLaunch{.nodes = input.spec.trial.nodes,
                       .walltime_s = training.walltime_s.value_or(most)};
}

/// Stages that are wider than one array may be.
void add_part_notes(Plan& plan) {
  if (plan.array_tasks_max <= 0) return;
  for (const PlannedStage& stage : plan.stages) {
    if (stage.tasks_max <= plan.array_tasks_max) continue;
    plan.notes.push_back(fmt::format(
        "stage {} is {} arrays: one has {} tasks at most (array_size_max)", stage.name.text,
        (stage.tasks_max + plan.array_tasks_max - 1) / plan.array_tasks_max, plan.array_tasks_max));
  }
}

/// The share of a node that a job of one core is charged: the node has so many; 1 where it gets the
/// whole node; nothing where that is not known.
std::optional<std::int64_t> cpus_of_lone_jobs(const Site& site) {
  const auto whole = [](const std::string& option) { return option.starts_with("--exclus"); };
  if (std::ranges::any_of(site.reducer_options, whole) ||
      std::ranges::any_of(site.sbatch_options, whole)) {
    return 1;
  }
  return site.cpus_per_node;
}

/// What reducers, guard and final likely take: the share of a node that their one core is, all of
/// it where that is not known. Elsewhere than in arrays the nodes of the study wait for reducers.
std::int64_t likely_lone_node_seconds(const StudyInput& input, SubmitMode submit,
                                      const Plan& plan) {
  const auto stages = static_cast<std::int64_t>(plan.stages.size());
  if (!is_in_arrays(submit)) return stages * likely_lone_job_s * input.spec.nodes_per_task();
  return (stages + lone_jobs) * likely_lone_job_s / cpus_of_lone_jobs(input.site).value_or(1);
}

/// Sums up what the budget counts.
void add_totals(const StudyInput& input, SubmitMode submit, Plan& plan) {
  plan.worst_node_seconds = planned_worst(plan);
  for (const PlannedStage& stage : plan.stages) {
    plan.likely_node_seconds += stage.likely_node_seconds;
  }
  plan.likely_node_seconds += likely_lone_node_seconds(input, submit, plan);
  if (!plan.budget_node_seconds || plan.worst_node_seconds <= *plan.budget_node_seconds) return;
  plan.notes.push_back(fmt::format(
      "all stages at their worst would take {}, more than the budget of {}: a stage is released "
      "only while the budget holds it and the confirmation",
      format_node_hours(plan.worst_node_seconds), format_node_hours(*plan.budget_node_seconds)));
  plan.worst_node_seconds = *plan.budget_node_seconds;
  plan.likely_node_seconds = std::min(plan.likely_node_seconds, plan.worst_node_seconds);
}

void add_asked(const Site& site, Plan& plan) {
  const std::int64_t cpus = cpus_of_lone_jobs(site).value_or(0);
  if (cpus > 0) plan.lone_job_node_seconds = (plan.reducer_walltime_s + cpus - 1) / cpus;
  for (const PlannedStage& stage : plan.stages) plan.asked_node_seconds += stage.worst_node_seconds;
}

}  // namespace

Expected<Plan> make_plan(const StudyInput& input, const PlanIdentity& identity) {
  SLURMTUNE_TRY(const Space space, make_space(input.spec));
  SLURMTUNE_CHECK(check_trials(input.spec, space));
  SLURMTUNE_CHECK(check_submit(input, identity.submit));
  const TaskRules rules = task_rules(input, identity.submit);
  SLURMTUNE_CHECK(check_concurrency(input, rules));
  SLURMTUNE_CHECK(check_nodes(input, rules.nodes_per_task));
  SLURMTUNE_TRY(StageTable table, stage_table(input, space));

  Plan plan;
  for (const StageDraft& draft : table.stages) plan.asked_experiments += draft.experiments;
  SLURMTUNE_CHECK(fit_experiments(input, table));
  plan.study = identity.study;
  plan.study_name = input.spec.name;
  plan.inputs = identity.inputs;
  plan.submit = name_of(identity.submit);
  plan.submit_why = identity.submit_why;
  if (is_in_arrays(identity.submit)) plan.array_tasks_max = input.site.array_size_max;
  plan.grid_size = table.grid_size;
  plan.reducer_walltime_s = std::llround(input.site.reducer_minutes * 60.0);
  plan.budget_node_seconds = budget_node_seconds(input);
  SLURMTUNE_TRY(plan.launch, planned_launch(input));
  add_notes(input, space, plan);
  SLURMTUNE_TRY(const std::vector<std::string> left_to_trials, check_objective_names(input));
  plan.notes.insert(plan.notes.end(), left_to_trials.begin(), left_to_trials.end());
  SLURMTUNE_TRY(const std::vector<std::string> lists, unused_lists(input, space));
  plan.notes.insert(plan.notes.end(), lists.begin(), lists.end());
  SLURMTUNE_TRY(const std::vector<Shaped> shaped,
                shape_within_limits(input, identity.submit, rules, table));
  for (const Shaped& stage : shaped) {
    plan.stages.push_back(planned_stage(stage, plan.stages.size() + 1, input, rules));
  }
  add_part_notes(plan);
  plan.pruned = std::move(table.pruned);
  add_asked(input.site, plan);
  add_rule_notes(input.site, identity.submit, plan);
  SLURMTUNE_CHECK(fit_budget(input, rules, plan));
  add_totals(input, identity.submit, plan);
  return plan;
}

}  // namespace slurmtune
