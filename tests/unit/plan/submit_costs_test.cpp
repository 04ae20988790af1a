// SPDX-License-Identifier: MIT
#include "slurmtune/plan/submit_costs.hpp"

#include <algorithm>

#include "slurmtune/plan/packing.hpp"
#include "slurmtune/plan/shape.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;
using Catch::Matchers::Contains;

namespace {

StudyInput grid_study(std::int64_t values) {
  StudyInput input;
  input.spec.name = "threads";
  input.spec.trial.command = {"bench"};
  input.spec.trial.nodes = 2;
  ParameterSpec threads;
  threads.name = "threads";
  threads.target = "env:OMP_NUM_THREADS";
  for (std::int64_t i = 1; i <= values; ++i) threads.values.emplace_back(i);
  input.spec.parameters = {threads};
  input.spec.measure.total_s = 100.0;
  input.site.min_task_minutes = 0.0;
  return input;
}

Expected<Plan> plan_of(const StudyInput& input, SubmitMode mode) {
  PlanIdentity identity;
  identity.submit = mode;
  return make_plan(input, identity);
}

std::string refusal(const StudyInput& input, SubmitMode mode) {
  const auto plan = plan_of(input, mode);
  REQUIRE_FALSE(plan);
  return plan.error().message;
}

}  // namespace

TEST_CASE("submit: a study's words for its ways are those of [slurm] submit", "[plan]") {
  CHECK(name_of(SubmitMode::automatic) == "auto");
  CHECK(name_of(SubmitMode::step) == "step");
  CHECK(name_of(SubmitMode::local) == "local");
}

TEST_CASE("submit: by steps a stage is as wide as one user's jobs allow beside its reducers",
          "[plan]") {
  StudyInput input = grid_study(40);
  input.site.submit_jobs_max = 20;
  const auto steps = plan_of(input, SubmitMode::step);
  REQUIRE(steps);
  const auto widest = std::ranges::max(steps->stages, {}, &PlannedStage::tasks_max);
  CHECK(widest.tasks_max <= 20 - jobs_beside_a_step);
  CHECK(widest.tasks_max >= 10);
  CHECK(steps->submit == "step");
  input.site.submit_jobs_max = jobs_beside_a_step;
  CHECK_THAT(refusal(input, SubmitMode::step), Contains("write submit = \"one-job\""));
}

TEST_CASE("submit: what an array may have is a limit of arrays alone", "[plan]") {
  StudyInput input = grid_study(40);
  input.site.array_size_max = 4;
  const auto graph = plan_of(input, SubmitMode::graph);
  REQUIRE(graph);
  CHECK(graph->stages[0].tasks_max == 40);
  CHECK(graph->array_tasks_max == 4);
  CHECK(plan_of(input, SubmitMode::local)->array_tasks_max == 0);
}

TEST_CASE("submit: where jobs cannot submit jobs, steps are refused and told so", "[plan]") {
  StudyInput input = grid_study(5);
  input.site.jobs_can_submit = false;
  CHECK_THAT(refusal(input, SubmitMode::step),
             Contains("jobs_can_submit = false") && Contains("submit = \"graph\" or \"one-job\""));
  CHECK(plan_of(input, SubmitMode::graph));
}

TEST_CASE("submit: the graph is chosen if it fits, then steps, then one job", "[plan]") {
  StudyInput input = grid_study(5);
  CHECK(choose_submit(input).mode == SubmitMode::graph);
  SECTION("few jobs: steps") {
    input.site.submit_jobs_max = 7;
    const SubmitChoice choice = choose_submit(input);
    CHECK(choice.mode == SubmitMode::step);
    // Three stages, each a task and a reducer at least, guard and final.
    CHECK(fewest_graph_jobs(input) == 8);
    CHECK_THAT(choice.why, Contains("is 8 jobs at least") && Contains("submit_jobs_max = 7"));
    CHECK(submit_costs(input)[0].stages_left_out == 1);
    CHECK(submit_costs(input)[0].jobs <= 7);
    // The graph would have to do without a stage.
    CHECK(plan_of(input, SubmitMode::graph)->stages.size() <
          plan_of(input, SubmitMode::step)->stages.size());
    input.site.jobs_can_submit = false;
    CHECK(choose_submit(input).mode == SubmitMode::one_job);
    CHECK_THAT(choose_submit(input).why, Contains("no job of the site may submit jobs"));
    input.site.submit_jobs_max = 8;
    CHECK(choose_submit(input).mode == SubmitMode::graph);
  }
  SECTION("two jobs, too short for a chain: refused with the chain's reason") {
    input.site.submit_jobs_max = 2;
    input.site.walltime_max_s = 300;
    input.spec.measure.total_s = 20.0;
    const SubmitChoice choice = choose_submit(input);
    CHECK(choice.mode == SubmitMode::one_job);
    CHECK(choice.why.empty());
    CHECK_THAT(refusal(inside_one_job(input), choice.mode),
               Contains("the job that holds the study 180 s") && Contains("is 300 s"));
    input.site.walltime_max_s = 400;
    CHECK(plan_of(inside_one_job(input), choose_submit(input).mode));
  }
  SECTION("two jobs: one job") {
    input.site.submit_jobs_max = 2;
    CHECK(choose_submit(input).mode == SubmitMode::one_job);
    CHECK_THAT(refusal(input, SubmitMode::graph), Contains("write submit = \"one-job\""));
  }
  SECTION("a window: steps") {
    input.spec.budget.window = parse_daily_hours("20:00-07:00").value();
    CHECK(choose_submit(input).mode == SubmitMode::step);
    input.site.jobs_can_submit = false;
    CHECK(choose_submit(input).mode == SubmitMode::graph);
  }
}

TEST_CASE("submit: a whole study is one job where that is long enough, else a chain", "[plan]") {
  StudyInput input = grid_study(40);
  const auto plan = plan_of(inside_one_job(input), SubmitMode::one_job);
  REQUIRE(plan);
  std::int64_t worst_s = 0;
  for (const PlannedStage& stage : plan->stages) {
    worst_s += stage.tasks_max * stage.task_walltime_s + plan->reducer_walltime_s;
  }
  CHECK(whole_jobs(*plan, input.site) == WholeJobs{worst_s, 1, 1});

  input.site.walltime_max_s = 1800;
  const auto chain = plan_of(inside_one_job(input), SubmitMode::one_job);
  REQUIRE(chain);
  const WholeJobs jobs = whole_jobs(*chain, input.site);
  CHECK(jobs.walltime_s == 1800);
  CHECK(jobs.likely_jobs >= 1);
  CHECK(jobs.jobs_max > jobs.likely_jobs);
  // Each task ends in a job of its own at the latest.
  for (const PlannedStage& stage : chain->stages) {
    CHECK(stage.task_walltime_s <= 1800 - whole_job_margin_s);
  }
}

TEST_CASE("submit: jobs that hold a study are no longer than its window", "[plan]") {
  StudyInput input = grid_study(40);
  CHECK(site_of_whole_jobs(input).walltime_max_s == input.site.walltime_max_s);
  input.spec.budget.window = parse_daily_hours("20:00-20:30").value();
  CHECK(site_of_whole_jobs(input).walltime_max_s == 1800);
  CHECK(submit_costs(input)[2].walltime_s == 1800);
  CHECK(submit_costs(input)[2].jobs > 1);
}

TEST_CASE("submit: a graph that is refused is told with as many jobs as it needs", "[plan]") {
  StudyInput input = grid_study(4);
  input.spec.measure.total_s = 20.0;
  input.site.walltime_max_s = 400;  // eight experiments a task, so that confirm's 12 are two tasks
  input.site.submit_jobs_max = 6;
  CHECK_THAT(refusal(input, SubmitMode::graph), Contains("has 7 jobs at least"));
  input.site.submit_jobs_max = 7;
  const auto graph = plan_of(input, SubmitMode::graph);
  REQUIRE(graph);
  CHECK(graph->stages.size() == 2);
}

TEST_CASE("submit: what each way costs, and why one cannot be", "[plan]") {
  StudyInput input = grid_study(10);
  const auto costs = submit_costs(input);
  REQUIRE(costs.size() == 3);
  CHECK(costs[0].mode == SubmitMode::graph);
  const auto graph = plan_of(input, SubmitMode::graph);
  CHECK(costs[0].jobs == graph->stages[0].tasks_max + graph->stages[1].tasks_max +
                             graph->stages[2].tasks_max + 3 + 2);
  CHECK(costs[0].waits == 2 * costs[0].long_waits + 1);
  CHECK(costs[0].worst_node_seconds == graph->worst_node_seconds);
  CHECK(costs[1].mode == SubmitMode::step);
  CHECK(costs[1].waits == 2 * costs[1].long_waits);
  CHECK(costs[2].mode == SubmitMode::one_job);
  CHECK(costs[2].jobs == 1);
  CHECK(costs[2].waits == 1);
  CHECK(costs[2].nodes == 2);
  const auto whole = plan_of(inside_one_job(input), SubmitMode::one_job);
  CHECK(costs[2].worst_node_seconds == whole->worst_node_seconds);
  CHECK(costs[2].likely_node_seconds == whole->likely_node_seconds);
  input.site.jobs_can_submit = false;
  CHECK_THAT(submit_costs(input)[1].why_not, Contains("jobs_can_submit"));
}
