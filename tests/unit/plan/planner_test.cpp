// SPDX-License-Identifier: MIT
#include "slurmtune/plan/planner.hpp"

#include <numeric>

#include "slurmtune/generate/task_time.hpp"
#include "slurmtune/plan/budget.hpp"
#include "slurmtune/plan/stage_table.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;
using Catch::Matchers::Contains;

namespace {

const PlanIdentity identity{{"6b1f3c52-7c1e-4f0a-9d55-0a3b8e2f4c61"}, "sha256:00"};

StudyInput deepspeed_study() {
  StudyInput input;
  StudySpec& spec = input.spec;
  spec.name = "gpt2-large";
  spec.trial.nodes = 2;
  spec.trial.processes_per_node = 4;
  spec.trial.command = {"python3", "train.py", "{ds_config}"};
  DeepSpeedSpec user;
  user.config_path = "ds_config.json";
  user.config_json = R"({"fp16":{"enabled":true}})";
  user.zero_stages = {0, 1, 2, 3};
  spec.deepspeed = user;
  spec.batch.micro_batch_cap = 64;
  return input;
}

StudyInput grid_study(std::int64_t values = 5) {
  StudyInput input;
  input.spec.name = "threads";
  input.spec.trial.command = {"bench"};
  ParameterSpec threads;
  threads.name = "threads";
  threads.target = "env:OMP_NUM_THREADS";
  threads.line = 9;
  for (std::int64_t i = 1; i <= values; ++i) threads.values.emplace_back(i);
  input.spec.parameters = {threads};
  return input;
}

Plan plan_of(const StudyInput& input) {
  const auto plan = make_plan(input, identity);
  if (!plan) FAIL(plan.error().message);
  return *plan;
}

std::string refusal(const StudyInput& input) {
  const auto plan = make_plan(input, identity);
  REQUIRE_FALSE(plan);
  CHECK(plan.error().kind == ErrorKind::invalid_input);
  return plan.error().message;
}

std::vector<std::string> names(const Plan& plan) {
  std::vector<std::string> found;
  for (const PlannedStage& stage : plan.stages) found.push_back(stage.name.text);
  return found;
}

std::int64_t worst_of_mandatory(const Plan& plan) {
  return std::accumulate(plan.stages.begin(), plan.stages.end(), std::int64_t{0},
                         [](std::int64_t sum, const PlannedStage& stage) {
                           return sum + (stage.mandatory ? stage.worst_node_seconds : 0);
                         });
}

std::int64_t jobs_of(const Plan& plan) {
  std::int64_t jobs = 2;  // guard and final
  for (const PlannedStage& stage : plan.stages) jobs += stage.tasks_max + 1;
  return jobs;
}

}  // namespace

TEST_CASE("make_plan: a DeepSpeed study is profile, frontier rounds, curve, confirm", "[plan]") {
  const Plan plan = plan_of(deepspeed_study());
  CHECK(names(plan) == std::vector<std::string>{"01-profile", "02-frontier", "03-frontier",
                                                "04-frontier", "05-frontier", "06-curve",
                                                "07-confirm", "08-confirm"});
  CHECK(plan.study == identity.study);
  CHECK(plan.inputs == identity.inputs);
  CHECK(plan.study_name == "gpt2-large");
  CHECK(plan.grid_size == 4 * 64);
  CHECK(plan.stages[0].experiments_max == 9);
  CHECK(plan.stages[1].experiments_max == 8);
  CHECK(plan.stages[4].round == 3);
  CHECK(plan.stages[5].experiments_max == 8);
  CHECK(plan.stages[6].experiments_max == 12);
  CHECK(plan.stages[6].tasks_max == 3);
  CHECK(plan.stages[7].round == 1);
  CHECK(plan.reducer_walltime_s == 600);
  CHECK_FALSE(plan.budget_node_seconds);
  std::vector<std::size_t> mandatory;
  for (std::size_t i = 0; i < plan.stages.size(); ++i) {
    if (plan.stages[i].mandatory) mandatory.push_back(i);
  }
  CHECK(mandatory == std::vector<std::size_t>{0, 1, 6});
}

TEST_CASE("make_plan: every stage's figures agree with each other", "[plan]") {
  StudyInput input = deepspeed_study();
  input.spec.lanes = 2;
  const TrialLimits limits = trial_limits(input.spec.measure);
  for (const PlannedStage& stage : plan_of(input).stages) {
    CHECK(stage.nodes_per_task == 4);
    CHECK(stage.tasks_at_once == stage.tasks_max);
    CHECK(stage.worst_node_seconds ==
          stage.tasks_max * stage.nodes_per_task * stage.task_walltime_s);
    CHECK(stage.likely_node_seconds <= stage.worst_node_seconds);
    CHECK(stage.likely_experiments <= stage.experiments_max);
    CHECK(stage.task_walltime_s % 60 == 0);
    CHECK(experiments_that_fit(stage.task_walltime_s, 2, limits) * stage.tasks_max >=
          stage.experiments_max);
  }
}

TEST_CASE("make_plan: is deterministic, and its file reads back as it is", "[plan]") {
  StudyInput input = deepspeed_study();
  input.spec.budget.max_node_hours = 200.0;
  const Plan plan = plan_of(input);
  CHECK(plan == plan_of(input));
  CHECK(parse_plan(render_plan(plan).value(), "plan.json") == plan);
}

TEST_CASE("make_plan: a grid study runs the grid and the baseline, then confirms", "[plan]") {
  const Plan plan = plan_of(grid_study());
  CHECK(names(plan) == std::vector<std::string>{"01-grid", "02-confirm", "03-confirm"});
  CHECK(plan.grid_size == 5);
  CHECK(plan.stages[0].experiments_max == 5);  // the baseline is one of them
  StudyInput outside = grid_study();
  outside.spec.trial.env["OMP_NUM_THREADS"] = "64";
  CHECK(plan_of(outside).stages[0].experiments_max == 6);
  CHECK(plan.stages[0].mandatory);
  CHECK(plan.stages[1].mandatory);
  CHECK_FALSE(plan.stages[2].mandatory);
  CHECK(plan_of(grid_study(1)).stages[1].experiments_max == 6);  // one leader and the baseline
}

TEST_CASE("make_plan: a DeepSpeed study may be a grid", "[plan]") {
  StudyInput input = deepspeed_study();
  input.spec.batch.micro_batches = {1, 2, 4};
  input.spec.search.strategy = StrategyKind::grid;
  const Plan plan = plan_of(input);
  CHECK(plan.stages[0].kind == Purpose::grid);
  CHECK(plan.stages[0].experiments_max == 12);
}

TEST_CASE("make_plan: few micro-batches need no further rounds", "[plan]") {
  StudyInput input = deepspeed_study();
  input.spec.batch.micro_batches = {1, 2, 4};
  CHECK(names(plan_of(input)) == std::vector<std::string>{"01-profile", "02-frontier", "03-curve",
                                                          "04-confirm", "05-confirm"});
  input.spec.batch.micro_batches = {2};
  const Plan plan = plan_of(input);
  CHECK(names(plan) ==
        std::vector<std::string>{"01-profile", "02-frontier", "03-confirm", "04-confirm"});
  CHECK(plan.stages[0].experiments_max == 5);
  CHECK(plan.stages[1].likely_experiments == 0);
}

TEST_CASE("make_plan: a ZeRO stage that cannot fit is left out, with figures", "[plan]") {
  StudyInput input = deepspeed_study();
  input.spec.model.params = 2e9;  // 32 GB of states without ZeRO
  input.site.gpu_bytes = 16e9;
  const Plan plan = plan_of(input);
  REQUIRE_FALSE(plan.pruned.empty());
  CHECK(plan.pruned.front().what == "zero_stage=0");
  CHECK_THAT(plan.pruned.front().because, Contains("GiB"));
  CHECK(plan.stages[0].experiments_max == 1 + 2 * (4 - static_cast<int>(plan.pruned.size())));

  input.spec.model.params = 1e12;
  CHECK_THAT(refusal(input), Contains("no ZeRO stage can be run") && Contains("zero_stage=3"));
}

TEST_CASE("make_plan: short experiments share tasks, by the site's wish", "[plan]") {
  StudyInput input = grid_study(99);
  input.site.min_task_minutes = 10.0;  // five of 120 s each
  CHECK(plan_of(input).stages[0].tasks_max == 20);
  input.site.min_task_minutes = 0.0;
  CHECK(plan_of(input).stages[0].tasks_max == 99);
}

TEST_CASE("make_plan: the whole graph stays within what one user may submit", "[plan]") {
  StudyInput input = grid_study(500);
  input.site.min_task_minutes = 0.0;
  for (const std::int64_t jobs_max : {600, 100, 30, 19}) {
    input.site.submit_jobs_max = jobs_max;
    const Plan plan = plan_of(input);
    CHECK(jobs_of(plan) <= jobs_max);
    CHECK(plan.stages[0].experiments_max == 500);
  }
  // A day holds 71 experiments: 8 tasks at least, 3 of confirm, 2 reducers, guard and final.
  input.site.submit_jobs_max = 15;
  CHECK(plan_of(input).stages.size() == 2);
  input.site.submit_jobs_max = 14;
  CHECK_THAT(refusal(input), Contains("500 experiments"));
  input.site.submit_jobs_max = 1000;
  input.site.array_size_max = 64;
  // A wider stage is several arrays.
  CHECK(plan_of(input).stages[0].tasks_max > 64);
  CHECK(plan_of(input).array_tasks_max == 64);
}

TEST_CASE("make_plan: where even one task a stage is too many, optional stages go", "[plan]") {
  StudyInput input = deepspeed_study();
  input.site.submit_jobs_max = 10;
  const Plan plan = plan_of(input);
  CHECK(jobs_of(plan) <= 10);
  CHECK(plan.pruned.size() == 4);
  CHECK_THAT(plan.pruned.front().because, Contains("submit_jobs_max"));
  input.site.submit_jobs_max = 7;
  CHECK_THAT(refusal(input), Contains("8 jobs at least") && Contains("is 7"));
}

TEST_CASE("make_plan: a grid that so few tasks cannot hold is refused", "[plan]") {
  StudyInput input = grid_study(500);
  input.site.walltime_max_s = 3600;
  input.site.submit_jobs_max = 20;
  CHECK_THAT(refusal(input), Contains("500 experiments"));
}

TEST_CASE("make_plan: a task has as many nodes as the site gives one job", "[plan]") {
  StudyInput input = grid_study(9);
  input.spec.trial.nodes = 2;
  input.site.nodes_max = 2;
  CHECK(plan_of(input).stages[0].nodes_per_task == 2);
  input.site.nodes_max = 1;
  CHECK_THAT(refusal(input), Contains("2 nodes") && Contains("1 at most (nodes_max)"));
  input.site.nodes_max.reset();
  input.site.nodes_min = 65;
  CHECK_THAT(refusal(input), Contains("65 at least (nodes_min)"));
}

TEST_CASE("make_plan: no more tasks at once than the site runs jobs of one user", "[plan]") {
  StudyInput input = grid_study(99);
  input.site.min_task_minutes = 0.0;
  input.site.running_jobs_max = 20;
  CHECK(plan_of(input).stages[0].tasks_at_once == 20);
  input.site.running_jobs_max = 200;
  CHECK(plan_of(input).stages[0].tasks_at_once == 99);
}

TEST_CASE("make_plan: rules of a centre that the graph breaks are noted with their names",
          "[plan]") {
  StudyInput input = grid_study(99);
  input.site.min_task_minutes = 0.0;
  const std::size_t before = plan_of(input).notes.size();
  input.site.job_minutes_min = 60.0;
  input.site.jobs_per_minute_max = 2;
  const Plan plan = plan_of(input);
  REQUIRE(plan.notes.size() == before + 2);
  CHECK_THAT(plan.notes[before], Contains("job_minutes_min") && Contains("60 minutes") &&
                                     Contains("submit = \"one-job\""));
  CHECK_THAT(plan.notes[before + 1], Contains("jobs_per_minute_max"));
  // Experiments of two minutes share a task, so that it is as long as asked for.
  CHECK(plan.stages[0].tasks_max <= 4);
  input.site.job_minutes_min = 0.0;
  input.site.jobs_per_minute_max = 100;
  CHECK(plan_of(input).notes.size() == before);
}

TEST_CASE("make_plan: max_concurrent_nodes throttles the arrays", "[plan]") {
  StudyInput input = grid_study(99);
  input.site.min_task_minutes = 0.0;
  input.spec.trial.nodes = 2;
  input.spec.budget.max_concurrent_nodes = 7;
  CHECK(plan_of(input).stages[0].tasks_at_once == 3);
  input.spec.budget.max_concurrent_nodes = 1;
  CHECK_THAT(refusal(input), Contains("max_concurrent_nodes is 1") && Contains("2 nodes"));
}

TEST_CASE("make_plan: a budget that holds the mandatory stages admits the plan", "[plan]") {
  StudyInput input = deepspeed_study();
  const Plan whole = plan_of(input);
  const std::int64_t mandatory = worst_of_mandatory(whole);
  const double hours = static_cast<double>(mandatory + overhead_of(whole)) / 3600.0;

  input.spec.budget.max_node_hours = hours + 0.001;
  const Plan tight = plan_of(input);
  CHECK(worst_of_mandatory(tight) == mandatory);
  CHECK(tight.budget_node_seconds >= mandatory);
  CHECK(tight.worst_node_seconds <=
        *tight.budget_node_seconds +
            static_cast<std::int64_t>(tight.stages.size() + 2) * tight.reducer_walltime_s);

  input.spec.budget.max_node_hours = hours - 0.5;
  CHECK_THAT(refusal(input), Contains("node-hours") && Contains("max_node_hours"));
}

TEST_CASE("make_plan: max_experiments bounds all stages together", "[plan]") {
  StudyInput input = deepspeed_study();
  input.spec.budget.max_experiments = 40;
  std::int64_t experiments = 0;
  for (const PlannedStage& stage : plan_of(input).stages) experiments += stage.experiments_max;
  CHECK(experiments == 40);
  input.spec.budget.max_experiments = 20;
  CHECK_THAT(refusal(input), Contains("29 experiments") && Contains("is 20"));
}

TEST_CASE("make_plan: trials that could not be started are refused before anybody waits",
          "[plan]") {
  StudyInput input = deepspeed_study();
  input.spec.trial.command = {"python3", "train.py"};
  CHECK_THAT(refusal(input), Contains("write {ds_config}"));

  input = grid_study();
  input.spec.parameters[0].target = "file:conf.yaml#{threads}";
  CHECK_THAT(refusal(input), Contains("not supported by this version yet"));
  input.spec.parameters[0].target = "";
  CHECK_THAT(refusal(input), Contains("study.toml:9") && Contains("goes nowhere"));
  input.spec.trial.command = {"bench", "{p:threads}"};
  CHECK(plan_of(input).stages.size() == 3);
}

TEST_CASE("make_plan: strategies that do not go with a study are refused", "[plan]") {
  StudyInput input = grid_study();
  input.spec.search.strategy = StrategyKind::deepspeed;
  CHECK_THAT(refusal(input), Contains("[deepspeed]"));
  input.spec.search.strategy = StrategyKind::random;
  CHECK_THAT(refusal(input), Contains("not supported by this version"));
  CHECK(resolved_strategy(grid_study().spec) == StrategyKind::grid);
  CHECK(resolved_strategy(deepspeed_study().spec) == StrategyKind::deepspeed);
}

TEST_CASE("make_plan: says what it does not tune", "[plan]") {
  StudyInput input = deepspeed_study();
  input.spec.notes = {"a note of the reader"};
  CHECK(plan_of(input).notes == input.spec.notes);
  input.spec.parameters = grid_study().spec.parameters;
  const Plan plan = plan_of(input);
  REQUIRE(plan.notes.size() == 2);
  CHECK_THAT(plan.notes[1], Contains("[[parameter]]") && Contains("fast = false"));
  input.spec.deepspeed->fast = false;  // then they are tuned
  CHECK(plan_of(input).notes == input.spec.notes);
}

TEST_CASE("make_plan: a site without walltime for one experiment is refused", "[plan]") {
  StudyInput input = grid_study();
  input.site.walltime_max_s = 1200;
  CHECK_THAT(refusal(input), Contains("longest walltime"));
}

TEST_CASE("make_plan: the first stage's frame holds what is generated for it", "[plan]") {
  for (StudyInput input : {deepspeed_study(), grid_study(37)}) {
    for (const int lanes : {1, 3}) {
      input.spec.lanes = lanes;
      const Plan plan = plan_of(input);
      const auto manifest = ExperimentGenerator(input).generate(stage_request(plan, 0), {});
      REQUIRE(manifest);
      CHECK_FALSE(manifest->experiments.empty());
      const PlannedStage& stage = plan.stages[0];
      CHECK(std::ssize(manifest->experiments) <= stage.experiments_max);
      CHECK(std::ssize(manifest->slices) <= stage.tasks_max);
      for (const Slice& slice : manifest->slices) {
        CHECK(slice.end - slice.first <=
              experiments_that_fit(stage.task_walltime_s, lanes, trial_limits(input.spec.measure)));
      }
    }
  }
}

TEST_CASE("make_plan: no task is longer than the window", "[plan]") {
  StudyInput input = deepspeed_study();
  input.spec.budget.window = DailyHours{std::chrono::hours(20), std::chrono::hours(21)};
  for (const PlannedStage& stage : plan_of(input).stages) CHECK(stage.task_walltime_s <= 3600);
  input.spec.budget.window = DailyHours{std::chrono::hours(20), std::chrono::minutes(20 * 60 + 5)};
  CHECK_THAT(refusal(input),
             Contains("the length of budget.window is 300 s") && Contains("window longer"));
}
