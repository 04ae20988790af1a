// SPDX-License-Identifier: MIT
#include "slurmtune/plan/planner.hpp"

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
