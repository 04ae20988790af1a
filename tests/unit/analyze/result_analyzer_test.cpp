// SPDX-License-Identifier: MIT
#include "slurmtune/analyze/result_analyzer.hpp"

#include <cmath>

#include "tests/support/catch.hpp"
#include "tests/unit/analyze/small_study.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

/// A confirm stage of given repeats.
StageHistory confirm_of(const std::vector<std::pair<Configuration, std::vector<double>>>& runs) {
  std::vector<Experiment> experiments;
  StageHistory stage;
  for (const auto& [configuration, throughputs] : runs) {
    int repeat = 0;
    for (const double throughput : throughputs) {
      experiments.push_back(experiment_of(configuration, Purpose::confirm, ++repeat));
      stage.verdicts.push_back(throughput > 0.0 ? ok(experiments.back(), throughput)
                                                : failed(experiments.back(), Outcome::nan));
    }
  }
  stage.manifest = manifest_of("05-confirm", std::move(experiments));
  return stage;
}

}  // namespace

TEST_CASE("reduce: what follows is named with its cost and its bytes", "[analyze]") {
  const StudyInput input = deepspeed_input();
  const Plan plan = small_plan();
  const StageHistory profile = profile_of(input, plan, usual_machine());
  const Reduction reduction = reduced(input, plan, {profile}, {.node_seconds = 1200});
  const Decision& decision = reduction.decision;
  CHECK(decision.study.text == "study");
  CHECK(decision.stage.text == "01-profile");
  CHECK(decision.inputs == "sha256:0");
  CHECK(decision.verdicts_read == 8);
  CHECK(decision.missing.empty());
  CHECK(decision.spent_node_seconds == 1200);
  CHECK_FALSE(decision.stop);
  CHECK_FALSE(decision.result);
  CHECK(decision.next.action == NextAction::release);
  CHECK(decision.next.stage.text == "02-frontier");
  REQUIRE(reduction.next);
  CHECK(decision.next.experiments == static_cast<std::int64_t>(reduction.next->experiments.size()));
  CHECK(decision.next.slices == static_cast<std::int64_t>(reduction.next->slices.size()));
  CHECK(decision.next.walltime_s == 600);
  CHECK(decision.next.worst_node_seconds == decision.next.slices * 2 * 600);
  CHECK(decision.next.manifest_sha256.size() == 64);
  REQUIRE(decision.best);
  REQUIRE(decision.baseline);
  CHECK(decision.baseline->outcome == Outcome::ok);
}

TEST_CASE("reduce: bounds are concluded in words, with the experiments that say so", "[analyze]") {
  const StudyInput input = deepspeed_input({1, 2, 3, 4});
  const Plan plan = small_plan();
  const StageHistory profile = profile_of(input, plan, usual_machine());
  StageHistory frontier;
  frontier.manifest = manifest_of("02-frontier", {experiment_of(zero(0, 3))});
  Random chance(Seed{3});
  frontier.verdicts.push_back(usual_machine().run(experiment_of(zero(0, 3)), chance));
  const Decision decision = reduced(input, plan, {profile, frontier}).decision;
  bool found = false;
  for (const Conclusion& conclusion : decision.conclusions) {
    if (conclusion.about != "zero_stage=0") continue;
    if (conclusion.says != "largest micro_batch that fits: 3 (fits 3, fails 4)") continue;
    found = true;
    CHECK(conclusion.why == std::vector<std::string>{experiment_of(zero(0, 3)).id.text,
                                                     experiment_of(zero(0, 4)).id.text});
  }
  CHECK(found);
}

TEST_CASE("reduce: another round is a repeat, an answered question is skipped", "[analyze]") {
  const StudyInput input = deepspeed_input();
  const Plan plan = small_plan();
  Machine blind = usual_machine();
  blind.tells_memory = false;
  const StageHistory profile = profile_of(input, plan, blind);
  Reduction first = reduced(input, plan, {profile});
  StageHistory frontier{*first.next, {}};
  Random chance(Seed{3});
  for (const Experiment& experiment : frontier.manifest.experiments) {
    frontier.verdicts.push_back(blind.run(experiment, chance));
  }
  const Reduction again = reduced(input, plan, {profile, frontier});
  CHECK(again.decision.next.action == NextAction::repeat);
  CHECK(again.decision.next.stage.text == "03-frontier");

  const StudyInput narrow = deepspeed_input({1, 4});
  const Reduction skipped = reduced(narrow, plan, {profile_of(narrow, plan, usual_machine())});
  CHECK(skipped.decision.next.action == NextAction::skip_to);
  CHECK(skipped.decision.next.stage.text == "05-confirm");
}

TEST_CASE("reduce: what is missing is named and run again", "[analyze]") {
  const StudyInput input = deepspeed_input();
  const Plan plan = small_plan();
  StageHistory profile = profile_of(input, plan, usual_machine());
  const ExperimentId lost = profile.verdicts.back().experiment;
  profile.verdicts.pop_back();
  const Reduction reduction = reduced(input, plan, {profile});
  CHECK(reduction.decision.missing == std::vector<ExperimentId>{lost});
  CHECK(reduction.decision.verdicts_read == 7);
  REQUIRE(reduction.next);
  CHECK(reduction.next->experiments.front().id == lost);
  CHECK(reduction.next->experiments.front().attempt == 1);
}

TEST_CASE("reduce: a stage is released only if the budget holds it and the confirmation",
          "[analyze]") {
  const StudyInput input = deepspeed_input();
  Plan plan = small_plan();
  plan.budget_node_seconds = 10'000;
  Machine blind = usual_machine();
  blind.tells_memory = false;
  const StageHistory profile = profile_of(input, plan, blind);
  const auto after = [&](std::int64_t spent) {
    return reduced(input, plan, {profile}, {.node_seconds = spent});
  };
  const Reduction rich = after(1000);
  CHECK(rich.decision.next.stage.text == "02-frontier");
  CHECK(rich.decision.next.reserved_node_seconds == 3600);

  // 10000 - 5000 - 3600 = 1400: one task of 1200 node-seconds.
  const Reduction less = after(5000);
  CHECK(less.decision.next.stage.text == "02-frontier");
  CHECK(less.decision.next.slices == 1);
  CHECK(less.decision.next.experiments < rich.decision.next.experiments);
  CHECK_FALSE(less.decision.dropped.empty());

  // 10000 - 6000 - 3600 = 400: nothing but the confirmation.
  const Reduction short_of = after(6000);
  CHECK(short_of.decision.next.action == NextAction::skip_to);
  CHECK(short_of.decision.next.stage.text == "05-confirm");
  CHECK(short_of.decision.next.slices == 3);

  const Reduction fewer = after(8000);  // two repeats of three
  CHECK(fewer.decision.next.stage.text == "05-confirm");
  CHECK(fewer.decision.next.slices == 1);

  const Reduction none = after(9500);
  CHECK(none.decision.next.action == NextAction::finish);
  CHECK(none.decision.stop == Stop::budget);
  REQUIRE(none.decision.result);
  CHECK(none.decision.result->best);
  CHECK(none.decision.result->why.find("not confirmed by repeats; the budget is used up") !=
        std::string::npos);
}

TEST_CASE("reduce: the deadline and the user end a study with what there is", "[analyze]") {
  const StudyInput input = deepspeed_input();
  const Plan plan = small_plan();
  const StageHistory profile = profile_of(input, plan, usual_machine());
  const Reduction late = reduced(input, plan, {profile}, {.deadline_passed = true});
  CHECK(late.decision.stop == Stop::deadline);
  CHECK(late.decision.next.action == NextAction::finish);
  CHECK(late.decision.result->best);
  const Reduction cancelled =
      reduced(input, plan, {profile}, {.deadline_passed = true, .cancelled = true});
  CHECK(cancelled.decision.stop == Stop::cancelled);
}

TEST_CASE("reduce: the winner comes from the repeats, its speedup is paired by repeat",
          "[analyze]") {
  const StudyInput input = deepspeed_input();
  const Plan plan = small_plan();
  const StageHistory profile = profile_of(input, plan, usual_machine());
  const StageHistory confirm = confirm_of({{zero(1, 4), {200.0, 220.0, 180.0}},
                                           {zero(2, 4), {150.0, 151.0, 149.0}},
                                           {zero(0, 1), {100.0, 110.0, 90.0}}});
  const Reduction reduction = reduced(input, plan, {profile, confirm}, {.node_seconds = 5});
  REQUIRE(reduction.decision.result);
  const TuningResult& result = *reduction.decision.result;
  CHECK(result.stop == Stop::gain);
  CHECK(result.best->values == zero(1, 4).values);
  CHECK(result.best->repeats == 3);
  CHECK(result.best->label == "z1_gas2_tmbspg4");
  CHECK(result.best->throughput.mid == Approx(std::cbrt(200.0 * 220.0 * 180.0)));
  CHECK(result.best->throughput.low > 150.0);
  CHECK(result.best->throughput.high > 250.0);  // wider above than below: it is of factors
  CHECK(result.best->throughput.low * result.best->throughput.high ==
        Approx(result.best->throughput.mid * result.best->throughput.mid));
  REQUIRE(result.speedup);
  CHECK(result.speedup->mid == Approx(2.0));
  CHECK(result.speedup->low == Approx(2.0));  // the noise is common to each repeat
  CHECK(result.baseline->throughput.mid == Approx(std::cbrt(100.0 * 110.0 * 90.0)));
  CHECK(result.spent_node_seconds == 5);
  CHECK(result.experiments_run == 17);
  CHECK(result.ranking.front().configuration == result.best->configuration);
}

TEST_CASE("reduce: a failed repeat is not a reading", "[analyze]") {
  const StudyInput input = deepspeed_input();
  const Plan plan = small_plan();
  const StageHistory profile = profile_of(input, plan, usual_machine());
  StageHistory confirm =
      confirm_of({{zero(1, 4), {200.0, 0.0, 0.0}}, {zero(0, 1), {100.0, 101.0, 99.0}}});
  Plan one_round = plan;
  one_round.stages.pop_back();
  const Reduction reduction = reduced(input, one_round, {profile, confirm});
  REQUIRE(reduction.decision.result);
  CHECK(reduction.decision.result->best->values == zero(1, 4).values);
  CHECK(reduction.decision.result->best->repeats == 1);
  CHECK(reduction.decision.result->best->throughput == about(200.0));
  CHECK(reduction.decision.result->why.find("confirmed by one repeat only") != std::string::npos);
}

TEST_CASE("reduce: what works but breaks a condition is not ranked, and that is said",
          "[analyze]") {
  StudyInput input = deepspeed_input();
  input.spec.objective.subject_to = {{"peak_gpu_bytes <= 0.1 * gpu_bytes", 9}};
  const Plan plan = small_plan();
  const StageHistory profile = profile_of(input, plan, usual_machine());
  const Reduction reduction = reduced(input, plan, {profile});
  CHECK_FALSE(reduction.decision.best);
  bool is_said = false;
  for (const Conclusion& conclusion : reduction.decision.conclusions) {
    is_said =
        is_said || conclusion.says == "not ranked: peak_gpu_bytes <= 0.1 * gpu_bytes does not hold";
  }
  CHECK(is_said);
}

TEST_CASE("reduce: what works but is not ranked is not said to fail", "[analyze]") {
  StudyInput input = deepspeed_input();
  input.spec.objective.subject_to = {{"micro_batch < 2", 9}};
  const Plan plan = small_plan();
  const auto result_of = [&](std::vector<Verdict> verdicts, std::vector<Experiment> asked) {
    const StageHistory stage{manifest_of("01-profile", std::move(asked)), std::move(verdicts)};
    return ResultAnalyzer(input, plan).result(std::vector{stage}, {}, Stop::gain).why;
  };
  const Experiment baseline = experiment_of(zero(0, 1));
  const Experiment larger = experiment_of(zero(1, 4));
  CHECK(result_of({ok(baseline, 100.0), ok(larger, 140.0)}, {baseline, larger}) ==
        "the baseline z0_gas2_tmbspg1 is the only configuration that can be ranked (another works, "
        "but is not ranked: micro_batch < 2 does not hold); not confirmed by repeats");
  CHECK(result_of({ok(baseline, 100.0), failed(larger, Outcome::gpu_oom)}, {baseline, larger}) ==
        "the baseline z0_gas2_tmbspg1 is the only configuration that works; not confirmed by "
        "repeats");
  input.spec.objective.subject_to = {{"micro_batch > 2", 9}};
  CHECK(result_of({ok(baseline, 100.0), ok(larger, 140.0)}, {baseline, larger}) ==
        "z1_gas2_tmbspg4 is the fastest that works; the baseline is not ranked (micro_batch > 2 "
        "does not hold); not confirmed by repeats");
}

TEST_CASE("F-01: there is one TuningResult on every path", "[analyze]") {
  const StudyInput input = deepspeed_input();
  const Plan plan = small_plan();
  const ResultAnalyzer analyzer(input, plan);
  const StageHistory good = profile_of(input, plan, usual_machine());
  Machine bad = usual_machine();
  bad.gpu_bytes = 1.0 * gib;
  const StageHistory oom = profile_of(input, plan, bad);
  for (const Stop stop :
       {Stop::gain, Stop::budget, Stop::deadline, Stop::exhausted, Stop::baseline_config_error,
        Stop::nothing_worked, Stop::storage_error, Stop::cancelled}) {
    CAPTURE(name_of(stop));
    for (const auto& history : {std::vector<StageHistory>{}, std::vector<StageHistory>{good},
                                std::vector<StageHistory>{oom}}) {
      const TuningResult result = analyzer.result(history, {.node_seconds = 7}, stop);
      CHECK(result.stop == stop);
      CHECK(result.spent_node_seconds == 7);
      CHECK_FALSE(result.why.empty());
      CHECK(result.best.has_value() == !result.ranking.empty());
      for (const Ranked& ranked : result.ranking) CHECK(ranked.throughput.mid > 0.0);
      for (const Failure& failure : result.failures) {
        CHECK(failure.outcome != Outcome::ok);
        if (result.best) CHECK(failure.experiment.text.find(result.best->configuration.text) != 0);
      }
    }
  }
  CHECK(analyzer.result({}, {}, Stop::cancelled).why == "nothing was run; the study was cancelled");
}

TEST_CASE("reduce: a history that is not of this plan is an error", "[analyze]") {
  const StudyInput input = deepspeed_input();
  const Plan plan = small_plan();
  CHECK_FALSE(ResultAnalyzer(input, plan).reduce({}, {}));
  StageHistory stranger;
  stranger.manifest = manifest_of("09-other", {experiment_of(zero(0, 1))});
  const auto reduction = ResultAnalyzer(input, plan).reduce(std::vector{stranger}, {});
  REQUIRE_FALSE(reduction);
  CHECK(reduction.error().kind == ErrorKind::corrupt_data);
}

TEST_CASE("what a budget left no room for is told in what that budget limits", "[analyze]") {
  StudyInput input = deepspeed_input();
  Plan plan = small_plan();
  const std::vector history{profile_of(input, plan, usual_machine())};
  const auto reasons = [&] {
    std::vector<std::string> told;
    for (const Dropped& dropped : reduced(input, plan, history).decision.dropped) {
      if (dropped.because.starts_with("budget: ")) told.push_back(dropped.because);
    }
    return told;
  };
  CHECK(reasons().empty());
  input.spec.budget.max_experiments = 4;
  REQUIRE_FALSE(reasons().empty());
  CHECK(reasons()[0].find(" of 4 experiments run, ") != std::string::npos);
  CHECK(reasons()[0].find("node-hours") == std::string::npos);
  input.spec.budget.max_experiments.reset();
  plan.budget_node_seconds = 3600;
  REQUIRE_FALSE(reasons().empty());
  CHECK(reasons()[0].find("0.00 node-hours spent, ") != std::string::npos);
  CHECK(reasons()[0].find("experiments") == std::string::npos);
}
