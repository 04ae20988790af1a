// SPDX-License-Identifier: MIT
#include "slurmtune/plan/plan.hpp"

#include <fstream>
#include <iterator>

#include <nlohmann/json.hpp>

#include "slurmtune/plan/plan_dot.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;
using Catch::Matchers::Contains;

namespace {

std::string sample() {
  std::ifstream file(SLURMTUNE_SOURCE_DIR "/tests/data/formats/plan-v1.json", std::ios::binary);
  REQUIRE(file);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string refusal(const Json& json) {
  const auto plan = parse_plan(json.dump(), "plan.json");
  REQUIRE_FALSE(plan);
  CHECK(plan.error().kind == ErrorKind::corrupt_data);
  return plan.error().message;
}

}  // namespace

TEST_CASE("parse_plan: version 1 stays readable", "[plan]") {
  const auto plan = parse_plan(sample(), "plan-v1.json");
  REQUIRE(plan);
  CHECK(plan->study.text == "6b1f3c52-7c1e-4f0a-9d55-0a3b8e2f4c61");
  CHECK(plan->study_name == "gpt2-large");
  CHECK(plan->inputs.starts_with("sha256:ffb304"));
  CHECK(plan->budget_node_seconds == 144000);
  CHECK(plan->grid_size == 24);
  CHECK(plan->reducer_walltime_s == 600);
  CHECK(plan->worst_node_seconds == 73560);
  CHECK(plan->likely_node_seconds == 11960);
  CHECK(plan->notes == std::vector<std::string>{"no ZeRO stage is given: all are tuned"});
  CHECK(plan->pruned ==
        std::vector<Dropped>{{"zero_stage=0", "model states need 18.0 GiB of 16.0 GiB"}});
  REQUIRE(plan->stages.size() == 3);
  CHECK(plan->stages[1] == PlannedStage{.name = {"02-frontier"},
                                        .kind = Purpose::frontier,
                                        .round = 0,
                                        .mandatory = true,
                                        .experiments_max = 8,
                                        .tasks_max = 2,
                                        .tasks_at_once = 1,
                                        .nodes_per_task = 2,
                                        .task_walltime_s = 5040,
                                        .worst_node_seconds = 20160,
                                        .likely_node_seconds = 2000,
                                        .likely_experiments = 8});
  CHECK(render_plan(*plan) == sample());
}

TEST_CASE("parse_plan: a plan without a budget, pruned stages or notes survives", "[plan]") {
  Plan plan = parse_plan(sample(), "plan.json").value();
  plan.budget_node_seconds.reset();
  plan.pruned.clear();
  plan.notes.clear();
  CHECK(parse_plan(render_plan(plan).value(), "plan.json") == plan);
}

TEST_CASE("parse_plan: newer versions, other formats and damaged stages are refused", "[plan]") {
  const Json good = Json::parse(sample());
  Json bad = good;
  bad["version"] = 2;
  CHECK_THAT(refusal(bad), Contains("plan.json") && Contains("newer slurmtune"));
  bad = good;
  bad["format"] = "slurmtune.manifest";
  CHECK_THAT(refusal(bad), Contains("slurmtune.plan"));
  bad = good;
  bad["stages"][1].erase("tasks_max");
  CHECK_THAT(refusal(bad), Contains("tasks_max"));
  bad = good;
  bad["stages"][1]["kind"] = "dance";
  CHECK_THAT(refusal(bad), Contains("dance"));
  bad = good;
  bad["stages"][0]["task_walltime_s"] = 0;
  CHECK_THAT(refusal(bad), Contains("task_walltime_s must be at least 1"));
  bad = good;
  bad["stages"] = Json::array();
  CHECK_THAT(refusal(bad), Contains("stages must not be empty"));
}

TEST_CASE("Plan::index_of: finds a stage by its name", "[plan]") {
  const Plan plan = parse_plan(sample(), "plan.json").value();
  CHECK(plan.index_of({"03-confirm"}) == 2);
  CHECK_FALSE(plan.index_of({"03-frontier"}));
}

TEST_CASE("stage_request: is the frame of the planned stage", "[plan]") {
  Plan plan = parse_plan(sample(), "plan.json").value();
  const StageRequest request = stage_request(plan, 2);
  CHECK(request.study == plan.study);
  CHECK(request.inputs == plan.inputs);
  CHECK(request.name.text == "03-confirm");
  CHECK(request.kind == Purpose::confirm);
  CHECK(request.round == 0);
  CHECK(request.experiments_max == 12);
  CHECK(request.tasks_max == 3);
  CHECK(request.nodes_per_task == 2);
  CHECK(request.task_walltime_s == 5040);
  CHECK(request.node_seconds_cap == 30240);
  plan.budget_node_seconds.reset();
  CHECK_FALSE(stage_request(plan, 2).node_seconds_cap);
}

TEST_CASE("render_dot: every array is followed by its reducer, and all ends in final", "[plan]") {
  Plan plan = parse_plan(sample(), "plan.json").value();
  plan.study_name = "a \"quoted\" name";
  plan.stages[1].mandatory = false;
  const std::string dot = render_dot(plan, {});
  CHECK_THAT(dot, Contains("digraph \"a \\\"quoted\\\" name\" {"));
  CHECK_THAT(dot, Contains("\"01-profile\" -> \"01-profile reducer\";"));
  CHECK_THAT(dot, Contains("\"01-profile reducer\" -> \"02-frontier\";"));
  CHECK_THAT(dot, Contains("\"02-frontier reducer\" -> \"03-confirm\";"));
  CHECK_THAT(dot, Contains("\"03-confirm reducer\" -> \"final\";"));
  CHECK_THAT(dot, Contains("\"guard\""));
  CHECK_THAT(dot, Contains("2 tasks, 1 at once"));
  CHECK_THAT(dot, Contains("\"02-frontier\" [shape=box style=dashed"));
  CHECK_THAT(dot, Contains("\"01-profile\" [shape=box label"));
}

TEST_CASE("render_dot: by steps each reducer submits the next array, and none is final", "[plan]") {
  Plan plan = parse_plan(sample(), "plan.json").value();
  plan.submit = "step";
  const std::string dot = render_dot(plan, {});
  CHECK_THAT(dot, Contains("\"01-profile reducer\" -> \"02-frontier\" [label=\"submits\"];"));
  CHECK_THAT(dot, Contains("\"02-frontier reducer\" -> \"02-frontier second reducer\";"));
  CHECK_THAT(dot, !Contains("\"final\""));
}

TEST_CASE("render_dot: inside one job, a chain or an allocation the stages share a frame",
          "[plan]") {
  Plan plan = parse_plan(sample(), "plan.json").value();
  plan.submit = "one-job";
  plan.launch = PlannedLaunch{.nodes = 2, .walltime_s = 3600};
  const std::string one = render_dot(plan, {.walltime_s = 7200, .jobs_max = 1, .likely_jobs = 1});
  CHECK_THAT(one, Contains("label=\"one job: 2 nodes x 2 h 00 min\"") &&
                      Contains("edge [label=\"then\"]") &&
                      Contains("\"03-confirm reducer\" -> \"launch\";"));
  CHECK_THAT(one, !Contains("afterany") && !Contains("guard"));
  const std::string chain = render_dot(plan, {.walltime_s = 1800, .jobs_max = 9, .likely_jobs = 2});
  CHECK_THAT(chain, Contains("a chain of 9 jobs at most: 2 nodes x 30 min each"));
  plan.submit = "allocation";
  CHECK_THAT(render_dot(plan, {}), Contains("label=\"the allocation: 2 nodes\""));
  plan.submit = "local";
  CHECK_THAT(render_dot(plan, {}), Contains("label=\"this machine\""));
}
