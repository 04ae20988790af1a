// SPDX-License-Identifier: MIT
#include "slurmtune/model/objective.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

Trial trial_of(const Verdict& verdict, const Experiment& experiment) {
  History history;
  history.add(manifest_of("01-profile", {experiment}), std::vector{verdict});
  return history.trials().front();
}

Objective compiled(const StudyInput& input) {
  auto objective = Objective::compile(input);
  REQUIRE(objective);
  return *std::move(objective);
}

Verdict measured(const Experiment& experiment) {
  Verdict verdict = ok(experiment, 100.0);
  verdict.metrics.step_s = Interval{0.09, 0.10, 0.12};
  verdict.metrics.peak_gpu_bytes = 8.0 * gib;
  verdict.metrics.user["tokens"] = 2048.0;
  return verdict;
}

}  // namespace

TEST_CASE("objective: throughput is its own score, and follows step times", "[model]") {
  const Objective objective = compiled(deepspeed_input());
  const Experiment experiment = experiment_of(zero(1, 4));
  CHECK(objective.score(trial_of(measured(experiment), experiment)) == about(100.0));
  CHECK(objective.follows_step_time());
  CHECK(objective.score_of_step(0.5, 32.0) == Approx(64.0));
  CHECK(objective.label() == "samples/s");
}

TEST_CASE("objective: what is minimized scores by its inverse, and reads as itself", "[model]") {
  StudyInput input = deepspeed_input();
  input.spec.objective.direction = Direction::minimize;
  input.spec.objective.metric = "step_s";
  const Objective objective = compiled(input);
  const Experiment experiment = experiment_of(zero(1, 4));
  const auto score = objective.score(trial_of(measured(experiment), experiment));
  REQUIRE(score);
  CHECK(score->mid == Approx(10.0));
  CHECK(score->low == Approx(1.0 / 0.12));
  CHECK(score->high == Approx(1.0 / 0.09));
  CHECK(objective.readable(*score).mid == Approx(0.10));
  CHECK(objective.readable(*score).low == Approx(0.09));
  CHECK(objective.label() == "step_s");
  CHECK(objective.in_words({0.09, 0.1, 0.12}) == "step_s = 0.1 s (95 % interval 0.09 to 0.12)");
  CHECK(objective.score_unit() == "steps/s");
  // Few repeats may leave a lower bound of nothing: the value is still the value.
  CHECK(objective.readable({0.0, 10.0, 20.0}).mid == Approx(0.10));
  CHECK(objective.readable({0.0, 10.0, 20.0}).high == Approx(0.10));
}

TEST_CASE("objective: an expression sees metrics, what the trial told, and parameters", "[model]") {
  StudyInput input = deepspeed_input();
  input.spec.objective.metric = "throughput * tokens / micro_batch";
  const Objective objective = compiled(input);
  const Experiment experiment = experiment_of(zero(1, 4));
  const auto score = objective.score(trial_of(measured(experiment), experiment));
  REQUIRE(score);
  CHECK(score->mid == Approx(51'200.0));
  CHECK(score->low == Approx(51'200.0 * 0.995));
  CHECK_FALSE(objective.follows_step_time());
}

TEST_CASE("objective: a failure, an unmeasured metric and a broken condition have no score",
          "[model]") {
  StudyInput input = deepspeed_input();
  input.spec.objective.subject_to = {{"peak_gpu_bytes <= 0.4 * gpu_bytes", 7}};
  const Experiment experiment = experiment_of(zero(1, 4));
  const Trial trial = trial_of(measured(experiment), experiment);
  const Objective strict = compiled(input);
  CHECK_FALSE(strict.score(trial));
  CHECK(strict.why_unranked(trial) == "peak_gpu_bytes <= 0.4 * gpu_bytes does not hold");
  input.spec.objective.subject_to = {{"peak_gpu_bytes <= 0.6 * gpu_bytes", 7}};
  CHECK(compiled(input).score(trial));
  CHECK(compiled(input).why_unranked(trial).empty());

  const Verdict blind = ok(experiment, 100.0);
  CHECK_FALSE(compiled(input).score(trial_of(blind, experiment)));
  CHECK(compiled(input).why_unranked(trial_of(blind, experiment)).find("peak_gpu_bytes") !=
        std::string::npos);

  const Verdict nan = failed(experiment, Outcome::nan);
  CHECK_FALSE(compiled(deepspeed_input()).score(trial_of(nan, experiment)));
  CHECK(compiled(deepspeed_input()).why_unranked(trial_of(nan, experiment)).empty());
  input.spec.objective.metric = "accuracy";
  CHECK_FALSE(compiled(input).score(trial));
}

TEST_CASE("objective: what is too large or too small to be compared has no score, with a reason",
          "[model]") {
  StudyInput input = deepspeed_input();
  const Experiment experiment = experiment_of(zero(1, 4));
  for (const std::string metric : {"throughput", "big", "2 * big"}) {
    for (const Direction direction : {Direction::maximize, Direction::minimize}) {
      for (const double value : {1e308, 1e61, 1e-61, 1e-308}) {
        INFO(metric << " " << value);
        input.spec.objective.metric = metric;
        input.spec.objective.direction = direction;
        Verdict verdict = ok(experiment, value);
        verdict.metrics.user["big"] = value;
        const Trial trial = trial_of(verdict, experiment);
        CHECK_FALSE(compiled(input).score(trial));
        CHECK(compiled(input).why_unranked(trial).find(metric) != std::string::npos);
      }
    }
  }
  // An interval that reaches beyond the bounds, too: it would be written.
  input.spec.objective.metric = "throughput";
  Verdict wide = ok(experiment, 100.0);
  wide.metrics.throughput->high = 1e300;
  CHECK_FALSE(compiled(input).score(trial_of(wide, experiment)));
  wide.metrics.throughput = {1e-300, 100.0, 101.0};
  input.spec.objective.direction = Direction::minimize;
  CHECK(compiled(input).score(trial_of(wide, experiment))->high == Approx(0.01));
}

TEST_CASE("objective: an expression that does not parse is an error", "[model]") {
  StudyInput input = deepspeed_input();
  input.spec.objective.metric = "throughput *";
  CHECK_FALSE(Objective::compile(input));
}
