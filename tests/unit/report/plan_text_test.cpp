// SPDX-License-Identifier: MIT
#include <fmt/format.h>

#include "slurmtune/plan/planner.hpp"
#include "slurmtune/plan/submit_costs.hpp"
#include "slurmtune/report/table.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/report/report_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

TEST_CASE("a plan's text has a row a stage and what it costs", "[report]") {
  const StudyInput input = deepspeed_input();
  const auto plan = make_plan(input, {{"study"}, "sha256:0"});
  REQUIRE(plan);
  const std::string text = plan_text(input, *plan, Colour::never);
  for (const PlannedStage& stage : plan->stages) CHECK(contains(text, "  " + stage.name.text));
  CHECK(contains(text, "2 nodes x 2 processes"));
  CHECK(contains(text, "if needed"));
  CHECK(contains(text, "no budget"));
  CHECK_FALSE(contains(text, "\x1b"));
  CHECK(contains(plan_text(input, *plan, Colour::ansi), "\x1b[1m"));
}

TEST_CASE("a plan's text says how its stages come to run", "[report]") {
  const StudyInput input = deepspeed_input();
  const auto text_of = [&](SubmitMode submit) {
    PlanIdentity identity;
    identity.submit = submit;
    return plan_text(input, make_plan(input, identity).value(), Colour::never);
  };
  CHECK(contains(text_of(SubmitMode::graph), "then its reducer (all edges afterany)"));
  CHECK(contains(text_of(SubmitMode::step), "its reducer, which submits the next one"));
  CHECK(contains(text_of(SubmitMode::one_job), "one after another inside one job"));
}

TEST_CASE("a plan's worst case is one figure: in its cost, its budget and the ways to submit",
          "[report]") {
  StudyInput input = deepspeed_input();
  input.site.walltime_max_s = 7200;
  for (const int limit : {30'000, 30}) {
    input.spec.budget.max_node_hours = limit;
    const StudyInput whole = inside_one_job(input);
    PlanIdentity identity;
    identity.submit = SubmitMode::one_job;
    const auto plan = make_plan(whole, identity);
    REQUIRE(plan);
    const auto worst = node_hours(plan->worst_node_seconds);
    const std::string text = plan_text(whole, *plan, Colour::never);
    CHECK(plan->worst_node_seconds <= limit * 3600);
    CHECK(contains(text, "at worst " + worst + " node-hours"));
    const std::string row = text.substr(text.find("max_node_hours "));
    CHECK(contains(row.substr(0, row.find('\n')), " " + worst + " "));
    const auto costs = submit_costs(input);
    CHECK(costs[2].jobs > 1);
    CHECK(node_hours(costs[2].worst_node_seconds) == worst);
    CHECK(contains(text, "the nodes are held between the stages, too"));
  }
}

TEST_CASE("a plan's budget shows the experiments after the trimming, and all beside them",
          "[report]") {
  StudyInput input = deepspeed_input();
  const auto all = make_plan(input, {{"study"}, "sha256:0"});
  REQUIRE(all);
  input.spec.budget.max_experiments = all->asked_experiments - 3;
  const auto plan = make_plan(input, {{"study"}, "sha256:0"});
  REQUIRE(plan);
  const std::string text = plan_text(input, *plan, Colour::never);
  const std::string row = text.substr(text.find("max_experiments "));
  const std::string limit = fmt::to_string(*input.spec.budget.max_experiments);
  CHECK(contains(row.substr(0, row.find('\n')), " " + limit + "  "));
  CHECK(contains(row, "all stages would take " + fmt::to_string(all->asked_experiments) + ":"));
  const std::size_t first = row.find(limit);
  CHECK(row.find(limit, first + 1) < row.find('\n'));
}

TEST_CASE("a plan's text says that its space is counted without knobs", "[report]") {
  StudyInput input = deepspeed_input();
  const auto fast = make_plan(input, {{"study"}, "sha256:0"});
  REQUIRE(fast);
  CHECK_FALSE(contains(plan_text(input, *fast, Colour::never), "without knobs"));
  input.spec.deepspeed->fast = false;
  const auto whole = make_plan(input, {{"study"}, "sha256:0"});
  REQUIRE(whole);
  CHECK(contains(plan_text(input, *whole, Colour::never), " valid configurations, without knobs"));
}

TEST_CASE("a plan's text says what is left out, with figures", "[report]") {
  StudyInput input = deepspeed_input();
  input.spec.model.params = 2e9;  // 16 bytes each are more than 16 GiB
  input.spec.budget.max_node_hours = 100.0;
  const auto plan = make_plan(input, {{"study"}, "sha256:0"});
  REQUIRE(plan);
  const std::string text = plan_text(input, *plan, Colour::never);
  CHECK(contains(text, "Left out before anything runs"));
  CHECK(contains(text, "zero_stage=0"));
  CHECK(contains(text, "GiB"));
  CHECK(contains(text, "max_node_hours"));
  CHECK(contains(text, "100.00"));
}

TEST_CASE("a plan without stages and of a name with a newline is still a text", "[report]") {
  Plan plan;
  plan.study_name = "a\nb";
  const std::string text = plan_text(generic_input(), plan, Colour::never);
  CHECK(text.starts_with("Plan of a b\n"));
  CHECK(contains(text, "too large to count"));
}
