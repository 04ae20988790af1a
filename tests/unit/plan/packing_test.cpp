// SPDX-License-Identifier: MIT
#include "slurmtune/plan/packing.hpp"

#include "slurmtune/generate/task_time.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;
using Catch::Matchers::Contains;

namespace {

/// Trials of 1200 s at worst and 120 s likely; tasks of at least 10 minutes.
TaskRules rules(int lanes = 1) {
  return {.lanes = lanes,
          .nodes_per_task = 2 * lanes,
          .limits = {900.0, 180.0, 1200.0},
          .likely_trial_s = 120.0,
          .min_task_s = 600.0,
          .walltime_max_s = 86'400,
          .where = "study.toml"};
}

}  // namespace

TEST_CASE("pack: short experiments share a task until it lasts long enough", "[plan]") {
  const auto shape = pack(20, 1000, rules());
  REQUIRE(shape);
  CHECK(shape->per_task == 5);  // 5 x 120 s = 10 minutes
  CHECK(shape->tasks == 4);
  CHECK(shape->walltime_s == task_walltime_s(5, 1, rules().limits));
  CHECK(shape->worst_node_seconds(2) == 4 * 2 * shape->walltime_s);
}

TEST_CASE("pack: long experiments have a task each", "[plan]") {
  TaskRules longer = rules();
  longer.likely_trial_s = 3000.0;
  const auto shape = pack(7, 1000, longer);
  REQUIRE(shape);
  CHECK(shape->tasks == 7);
  CHECK(shape->per_task == 1);
}

TEST_CASE("pack: lanes run side by side, so that a task holds more", "[plan]") {
  const auto shape = pack(20, 1000, rules(2));
  REQUIRE(shape);
  CHECK(shape->per_task == 10);
  CHECK(shape->tasks == 2);
  CHECK(shape->walltime_s == task_walltime_s(5, 1, rules().limits));
}

TEST_CASE("pack: tasks are filled evenly, and no experiment is lost", "[plan]") {
  for (std::int64_t experiments = 1; experiments <= 60; ++experiments) {
    for (const std::int64_t tasks_max : {1, 2, 3, 7, 1000}) {
      const auto shape = pack(experiments, tasks_max, rules());
      REQUIRE(shape);
      CHECK(shape->tasks <= tasks_max);
      CHECK(shape->tasks * shape->per_task >= experiments);
      CHECK((shape->tasks - 1) * shape->per_task < experiments);
      CHECK(experiments_that_fit(shape->walltime_s, 1, rules().limits) >= shape->per_task);
    }
  }
}

TEST_CASE("pack: a task is never longer than the site's longest walltime", "[plan]") {
  TaskRules short_queue = rules();
  short_queue.walltime_max_s = 3600;  // holds two trials of 1215 s and the margin
  const auto shape = pack(20, 1000, short_queue);
  REQUIRE(shape);
  CHECK(shape->per_task == 2);
  CHECK(shape->tasks == 10);
  CHECK(shape->walltime_s <= 3600);

  const auto refused = pack(20, 9, short_queue);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::invalid_input);
  CHECK_THAT(refused.error().message, Contains("20 experiments") && Contains("9 array tasks"));
}

TEST_CASE("pack: an experiment that no task can hold is refused, with both figures", "[plan]") {
  TaskRules too_short = rules();
  too_short.walltime_max_s = 900;
  const auto refused = pack(1, 1000, too_short);
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message,
             Contains("1335 s together") && Contains("is 900 s") && Contains("measure.total_s"));
}

TEST_CASE("pack: what an experiment is too long for is said part by part, with its line",
          "[plan]") {
  StudyInput input;
  input.spec.measure.total_s = 20.0;
  input.spec.measure.limit_line = 7;
  input.site.walltime_max_s = 300;
  // 20 s and 15 s to be ended, 120 s of its task, 180 s of the job that holds all tasks.
  CHECK(pack(1, 1000, task_rules(input, SubmitMode::graph)));
  const auto refused = pack(1, 1000, task_rules(input, SubmitMode::one_job));
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message ==
        "study.toml:7: one experiment may last 20 s (measure.total_s) and 15 s to be ended, its "
        "task 120 s to start and end, and the job that holds the study 180 s likewise: 335 s "
        "together, but the longest walltime of the site (walltime_max_s) is 300 s; lower "
        "measure.total_s, or choose another partition");
  input.site.walltime_max_s = 335;
  CHECK(pack(1, 1000, task_rules(input, SubmitMode::one_job)));
  input.site.walltime_max_s = 334;
  CHECK_FALSE(pack(1, 1000, task_rules(input, SubmitMode::one_job)));
}

TEST_CASE("pack: a window that is too short is named with its own line and length", "[plan]") {
  StudyInput input;
  input.spec.measure.total_s = 20.0;
  input.spec.measure.limit_line = 7;
  input.spec.budget.window = parse_daily_hours("04:30-04:32").value();
  input.spec.budget.window_line = 9;
  const auto refused = pack(1, 1000, task_rules(input, SubmitMode::graph));
  REQUIRE_FALSE(refused);
  CHECK_THAT(refused.error().message,
             Contains("study.toml:9: ") && Contains("the length of budget.window is 120 s"));
}

TEST_CASE("pack_into: makes the wanted tasks, or more where they would be too long", "[plan]") {
  CHECK(pack_into(12, 3, rules())->tasks == 3);
  CHECK(pack_into(12, 3, rules())->per_task == 4);
  CHECK(pack_into(2, 3, rules())->tasks == 2);
  TaskRules short_queue = rules();
  short_queue.walltime_max_s = 3600;
  CHECK(pack_into(12, 3, short_queue)->tasks == 6);
}

TEST_CASE("task_rules: come from the study and the site", "[plan]") {
  StudyInput input;
  input.spec.trial.nodes = 2;
  input.spec.lanes = 3;
  input.spec.measure.total_s = 100.0;
  input.site.min_task_minutes = 5.0;
  input.site.walltime_max_s = 7200;
  const TaskRules made = task_rules(input, SubmitMode::graph);
  CHECK(made.nodes_per_task == 6);
  CHECK(made.lanes == 3);
  CHECK(made.likely_trial_s == 25.0);
  CHECK(made.min_task_s == 300.0);
  CHECK(made.walltime_max_s == 7200);
}
