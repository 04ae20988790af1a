// SPDX-License-Identifier: MIT
#include "slurmtune/plan/budget.hpp"

#include <numeric>

#include "slurmtune/generate/task_time.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;
using Catch::Matchers::Contains;
using Catch::Matchers::StartsWith;

namespace {

StageTable drafts() {
  StageTable table;
  const auto add = [&](Purpose kind, int round, bool mandatory, std::int64_t experiments) {
    table.stages.push_back({.kind = kind,
                            .round = round,
                            .mandatory = mandatory,
                            .experiments = experiments,
                            .likely_experiments = experiments,
                            .tasks = std::nullopt});
  };
  add(Purpose::profile, 0, true, 9);
  add(Purpose::frontier, 0, true, 8);
  add(Purpose::frontier, 1, false, 8);
  add(Purpose::curve, 0, false, 8);
  add(Purpose::confirm, 0, true, 12);
  return table;
}

std::int64_t total(const StageTable& table) {
  return std::accumulate(
      table.stages.begin(), table.stages.end(), std::int64_t{0},
      [](std::int64_t sum, const StageDraft& draft) { return sum + draft.experiments; });
}

TaskRules rules() {
  TaskRules made;
  made.limits = {900.0, 180.0, 1200.0};
  return made;
}

PlannedStage stage(Purpose kind, int round, bool mandatory, std::int64_t tasks) {
  PlannedStage planned;
  planned.kind = kind;
  planned.round = round;
  planned.mandatory = mandatory;
  planned.tasks_max = tasks;
  planned.tasks_at_once = tasks;
  planned.experiments_max = 4 * tasks;
  planned.likely_experiments = 4 * tasks;
  planned.task_walltime_s = task_walltime_s(4, 1, rules().limits);
  planned.worst_node_seconds = tasks * planned.task_walltime_s;
  planned.likely_node_seconds = planned.worst_node_seconds / 10;
  return planned;
}

Plan plan_with(std::int64_t budget) {
  Plan plan;
  plan.budget_node_seconds = budget;
  plan.stages = {stage(Purpose::profile, 0, true, 2), stage(Purpose::frontier, 0, true, 2),
                 stage(Purpose::frontier, 1, false, 2), stage(Purpose::curve, 0, false, 2),
                 stage(Purpose::confirm, 0, true, 3)};
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    plan.stages[i].name = {"0" + std::to_string(i + 1) + "-" +
                           std::string(name_of(plan.stages[i].kind))};
  }
  return plan;
}

}  // namespace

TEST_CASE("budget_node_seconds: the tighter of both budgets, GPUs counted by node", "[plan]") {
  StudyInput input;
  CHECK_FALSE(budget_node_seconds(input));
  input.spec.budget.max_node_hours = 10.0;
  CHECK(budget_node_seconds(input) == 36'000);
  input.spec.budget.max_gpu_hours = 20.0;
  input.site.gpus_per_node = 4;
  CHECK(budget_node_seconds(input) == 18'000);
  input.site.gpus_per_node.reset();
  input.spec.trial.processes_per_node = 2;
  CHECK(budget_node_seconds(input) == 36'000);
  input.spec.budget.max_node_hours.reset();
  input.spec.trial.processes_per_node = 8;
  CHECK(budget_node_seconds(input) == 9'000);
}

TEST_CASE("fit_experiments: optional stages give way, in order", "[plan]") {
  StudyInput input;
  StageTable table = drafts();
  REQUIRE(fit_experiments(input, table));
  CHECK(table.stages == drafts().stages);

  input.spec.budget.max_experiments = 40;
  REQUIRE(fit_experiments(input, table));
  CHECK(total(table) == 40);
  CHECK(table.stages[2].experiments == 8);
  CHECK(table.stages[3].experiments == 3);
  REQUIRE(table.pruned.size() == 1);
  CHECK(table.pruned[0] ==
        Dropped{"stage curve 1: 5 of 8 experiments", "budget.max_experiments is 40"});

  table = drafts();
  input.spec.budget.max_experiments = 31;
  REQUIRE(fit_experiments(input, table));
  CHECK(total(table) == 31);
  CHECK(table.stages.size() == 4);
  REQUIRE(table.pruned.size() == 2);
  CHECK(table.pruned[1] == Dropped{"stage curve 1", "budget.max_experiments is 31"});
}

TEST_CASE("fit_experiments: too few for the mandatory stages is refused, with both figures",
          "[plan]") {
  StudyInput input;
  input.spec.budget.max_experiments = 28;
  StageTable table = drafts();
  const auto fitted = fit_experiments(input, table);
  REQUIRE_FALSE(fitted);
  CHECK(fitted.error().kind == ErrorKind::invalid_input);
  CHECK_THAT(fitted.error().message, Contains("29 experiments") && Contains("is 28"));
  input.spec.budget.max_experiments_line = 12;
  CHECK_THAT(fit_experiments(input, table = drafts()).error().message,
             StartsWith("study.toml:12: "));
}

TEST_CASE("fit_budget: a plan whose mandatory stages fit is admitted", "[plan]") {
  const std::int64_t task = stage(Purpose::curve, 0, true, 1).worst_node_seconds;
  Plan plan = plan_with(100 * task);
  REQUIRE(fit_budget(StudyInput{}, rules(), plan));
  CHECK(plan == plan_with(100 * task));

  // Seven tasks, and 5 s for the start and end of each.
  CHECK(fit_budget(StudyInput{}, rules(), plan = plan_with(7 * task + 35)));
  CHECK_FALSE(fit_budget(StudyInput{}, rules(), plan = plan_with(7 * task + 34)));
  Plan tight = plan_with(6 * task);
  const auto refused = fit_budget(StudyInput{}, rules(), tight);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::invalid_input);
  CHECK_THAT(refused.error().message, Contains("9.69 node-hours") && Contains("budget is 8.30") &&
                                          Contains("05-confirm 4.15 node-hours") &&
                                          Contains("max_node_hours"));
}

TEST_CASE("fit_budget: a refusal names the line of the budget that is the tighter", "[plan]") {
  StudyInput input;
  input.site.gpus_per_node = 4;
  input.spec.budget.max_node_hours = 2.0;
  input.spec.budget.max_node_hours_line = 5;
  input.spec.budget.max_gpu_hours_line = 6;
  Plan tight = plan_with(100);
  CHECK_THAT(fit_budget(input, rules(), tight).error().message, StartsWith("study.toml:5: "));
  input.spec.budget.max_gpu_hours = 9.0;
  CHECK_THAT(fit_budget(input, rules(), tight).error().message, StartsWith("study.toml:5: "));
  input.spec.budget.max_gpu_hours = 7.0;
  CHECK_THAT(fit_budget(input, rules(), tight).error().message, StartsWith("study.toml:6: "));
}

TEST_CASE("planned_worst: all tasks, 5 s for each, and the jobs of known share", "[plan]") {
  const std::int64_t task = stage(Purpose::curve, 0, true, 1).worst_node_seconds;
  Plan plan = plan_with(0);
  CHECK(planned_worst(plan) == 11 * (task + 5));
  plan.lone_job_node_seconds = 60;
  CHECK(planned_worst(plan) == 11 * (task + 5) + 7 * 60);
}

TEST_CASE("fit_budget: optional stages shrink to what can be left for them", "[plan]") {
  const std::int64_t task = stage(Purpose::curve, 0, true, 1).worst_node_seconds;
  // Before frontier 2, likely 0.4 tasks are spent; confirm needs 3 after it. 7 tasks of budget
  // leave 3.6: both optional stages fit. With confirm at 6 tasks, less than one is left.
  Plan plan = plan_with(10 * task + 60);
  plan.stages.back() = stage(Purpose::confirm, 0, true, 6);
  plan.stages.back().name = {"05-confirm"};
  REQUIRE(fit_budget(StudyInput{}, rules(), plan));
  CHECK(plan.stages.size() == 5);
  CHECK(plan.stages[2].tasks_max == 2);

  plan.budget_node_seconds = 8 * task + 65;
  plan.stages.back() = stage(Purpose::confirm, 0, true, 4);
  plan.stages.back().name = {"05-confirm"};
  plan.stages[2] = stage(Purpose::frontier, 1, false, 5);
  REQUIRE(fit_budget(StudyInput{}, rules(), plan));
  CHECK(plan.stages[2].tasks_max == 3);
  CHECK(plan.stages[2].experiments_max == 12);
  CHECK(plan.stages[2].worst_node_seconds == 3 * task);
  CHECK(plan.stages[2].likely_experiments == 12);
}

TEST_CASE("fit_budget: one short task, then none, and the names count on", "[plan]") {
  const std::int64_t task = stage(Purpose::curve, 0, true, 1).worst_node_seconds;
  Plan plan = plan_with(8 * task + 50);  // 5 s a task besides its work
  for (PlannedStage& planned : plan.stages) planned.likely_node_seconds = 0;
  plan.stages[4] = stage(Purpose::confirm, 0, true, 4);
  plan.stages[0] = stage(Purpose::profile, 0, true, 2);
  plan.stages[0].likely_node_seconds = 4 * task - task / 2;  // half a task is left
  REQUIRE(fit_budget(StudyInput{}, rules(), plan));
  CHECK(plan.stages[2].kind == Purpose::frontier);
  CHECK(plan.stages[2].tasks_max == 1);
  CHECK(plan.stages[2].experiments_max == 1);
  CHECK(plan.stages[2].task_walltime_s == task_walltime_s(1, 1, rules().limits));

  Plan none = plan_with(8 * task + 50);
  for (PlannedStage& planned : none.stages) planned.likely_node_seconds = 0;
  none.stages[4] = stage(Purpose::confirm, 0, true, 4);
  none.stages[0].likely_node_seconds = 4 * task - 600;
  REQUIRE(fit_budget(StudyInput{}, rules(), none));
  REQUIRE(none.stages.size() == 3);
  CHECK(none.stages[2].name.text == "03-confirm");
  REQUIRE(none.pruned.size() == 2);
  CHECK(none.pruned[0].what == "stage frontier 2");
  CHECK_THAT(none.pruned[0].because, Contains("0.17 node-hours"));
}

TEST_CASE("fit_budget: reducers, guard and final count where their share of a node is known",
          "[plan]") {
  const std::int64_t task = stage(Purpose::curve, 0, true, 1).worst_node_seconds;
  Plan plan = plan_with(7 * task + 35 + 5 * 60);  // three stages are mandatory
  plan.lone_job_node_seconds = 60;
  CHECK(fit_budget(StudyInput{}, rules(), plan));
  plan = plan_with(7 * task + 35 + 5 * 60 - 1);
  plan.lone_job_node_seconds = 60;
  const auto refused = fit_budget(StudyInput{}, rules(), plan);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Contains("their reducers, guard and final"));
}

TEST_CASE("fit_budget: with if_over = refuse all stages must fit, or both figures are told",
          "[plan]") {
  const std::int64_t task = stage(Purpose::curve, 0, true, 1).worst_node_seconds;
  StudyInput input;
  input.spec.budget.if_over = OverBudget::refuse;
  Plan plan = plan_with(11 * task + 55);
  plan.asked_node_seconds = 11 * task;
  CHECK(fit_budget(input, rules(), plan));
  plan = plan_with(11 * task + 54);
  plan.asked_node_seconds = 11 * task;
  const auto refused = fit_budget(input, rules(), plan);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::invalid_input);
  CHECK_THAT(refused.error().message,
             Contains("15.23 node-hours") && Contains("if_over = \"trim\""));
}

TEST_CASE("fit_experiments: with if_over = refuse all experiments must fit", "[plan]") {
  StudyInput input;
  input.spec.budget.if_over = OverBudget::refuse;
  input.spec.budget.max_experiments = 45;
  StageTable table = drafts();
  CHECK(fit_experiments(input, table));
  input.spec.budget.max_experiments = 44;
  const auto refused = fit_experiments(input, table = drafts());
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message, Contains("45 experiments") && Contains("is 44"));
}

TEST_CASE("graph_time: stages one after another, tasks in waves of those that may run at once",
          "[plan]") {
  Plan plan = plan_with(0);
  plan.stages.resize(1);
  plan.stages[0].tasks_max = 5;
  plan.stages[0].tasks_at_once = 2;
  plan.stages[0].task_walltime_s = 600;
  plan.stages[0].likely_node_seconds = 1000;
  plan.reducer_walltime_s = 60;
  CHECK(graph_time(plan).worst_s == 3 * 600 + 2 * 60);
  CHECK(graph_time(plan).likely_s == 500 + 10);
}
