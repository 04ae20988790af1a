// SPDX-License-Identifier: MIT
#include <algorithm>

#include "slurmtune/plan/planner.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

const PlanIdentity identity{{"6b1f3c52-7c1e-4f0a-9d55-0a3b8e2f4c61"}, "sha256:00"};

StudyInput not_fast() {
  StudyInput input = deepspeed_input();
  input.spec.deepspeed->fast = false;
  return input;
}

Plan plan_of(const StudyInput& input) {
  const auto plan = make_plan(input, identity);
  INFO((plan ? std::string() : plan.error().message));
  REQUIRE(plan);
  return *plan;
}

std::vector<PlannedStage> rounds_of(const Plan& plan, Purpose kind) {
  std::vector<PlannedStage> found;
  for (const PlannedStage& stage : plan.stages) {
    if (stage.kind == kind) found.push_back(stage);
  }
  return found;
}

std::string reason(const Plan& plan, const std::string& what) {
  for (const Dropped& dropped : plan.pruned) {
    if (dropped.what == what) return dropped.because;
  }
  return "";
}

}  // namespace

TEST_CASE("plan: knobs come after curve and before confirm, all rounds within knob_experiments",
          "[plan]") {
  const Plan plan = plan_of(not_fast());
  const auto knobs = rounds_of(plan, Purpose::knobs);
  REQUIRE(knobs.size() == 2);  // 8 and 20 steps
  std::int64_t experiments = 0;
  for (const PlannedStage& stage : knobs) {
    CHECK_FALSE(stage.mandatory);
    experiments += stage.experiments_max;
  }
  CHECK(experiments <= 50);
  CHECK(experiments >= 48);
  CHECK(knobs[1].experiments_max == knobs[0].experiments_max / 3);
  const auto at = plan.index_of(knobs.front().name);
  REQUIRE(at);
  CHECK(plan.stages[*at - 1].kind == Purpose::curve);
  CHECK(plan.stages[*at + knobs.size()].kind == Purpose::confirm);
}

TEST_CASE("plan: a fast study has no knobs, and says nothing of them", "[plan]") {
  StudyInput input = not_fast();
  input.spec.deepspeed->fast = true;
  const Plan plan = plan_of(input);
  CHECK(rounds_of(plan, Purpose::knobs).empty());
  CHECK(plan.pruned.empty());
}

TEST_CASE("plan: which knobs cannot matter is said with figures", "[plan]") {
  StudyInput input = not_fast();
  input.spec.model.params = 120e6;
  input.site.gpus_per_node = 0;
  const Plan plan = plan_of(input);
  CHECK(reason(plan, "zero_optimization.reduce_bucket_size = 200000000, 1000000000") ==
        "no different from 500000000: both exceed params = 1.2e+08");
  CHECK(reason(plan, "env:NCCL_ALGO").find("NCCL needs GPUs") == 0);
  CHECK(reason(plan, "zero_optimization.offload_optimizer.device").find("no GPU to relieve") !=
        std::string::npos);
  CHECK(reason(plan, "json:communication_data_type").find("write a list") != std::string::npos);
}

TEST_CASE("plan: the budget of experiments narrows the knobs", "[plan]") {
  StudyInput input = not_fast();
  const Plan whole = plan_of(input);
  std::int64_t all = 0;
  for (const PlannedStage& stage : whole.stages) all += stage.experiments_max;
  input.spec.budget.max_experiments = all - 20;
  std::int64_t narrowed = 0;
  for (const PlannedStage& stage : plan_of(input).stages) narrowed += stage.experiments_max;
  CHECK(narrowed <= all - 20);
}

TEST_CASE("plan: where no ZeRO stage can fit, the knobs may rescue the study", "[plan]") {
  StudyInput input = not_fast();
  input.spec.model.params = 100e9;  // on four GPUs of 16 GiB
  const Plan plan = plan_of(input);
  CHECK_FALSE(rounds_of(plan, Purpose::knobs).empty());
  CHECK(plan.stages.front().experiments_max == 1);  // the baseline: "does not run" is a result
  input.spec.deepspeed->fast = true;
  const auto refused = make_plan(input, identity);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.find("fast = false") != std::string::npos);
}

TEST_CASE("plan: halving has rounds of a third of the experiments, the first with the baseline",
          "[plan]") {
  StudyInput input = generic_input();
  input.spec.search.strategy = StrategyKind::halving;
  input.spec.search.width = 9;
  input.spec.search.rounds = 3;
  input.spec.measure.min_steps = 4;
  input.spec.measure.max_steps = 36;
  input.spec.parameters[0].values.clear();
  input.spec.parameters[0].low = 1.0;
  input.spec.parameters[0].high = 1e9;
  const Plan plan = plan_of(input);
  CHECK(plan.grid_size == 0);
  const auto rounds = rounds_of(plan, Purpose::halving);
  REQUIRE(rounds.size() == 3);
  CHECK(rounds[0].experiments_max == 28);
  CHECK(rounds[1].experiments_max == 9);
  CHECK(rounds[2].experiments_max == 3);
  CHECK(rounds[0].mandatory);
  CHECK_FALSE(rounds[1].mandatory);
  CHECK_FALSE(rounds_of(plan, Purpose::confirm).empty());
}
