// SPDX-License-Identifier: MIT
//
// What trials report too little, too much or not at all.

#include <algorithm>
#include <cmath>
#include <functional>

#include "tests/unit/analyze/small_study.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

TEST_CASE("reduce: a study whose objective no trial reports ends at once and says so",
          "[analyze]") {
  StudyInput input = deepspeed_input();
  input.spec.objective.metric = "tokens";
  const Plan plan = small_plan();
  StageHistory stage = profile_of(input, plan, usual_machine());
  const auto conclude = [&] { return reduced(input, plan, {stage}).decision; };
  CHECK(conclude().stop == Stop::nothing_worked);
  CHECK(conclude().result->why.find("no trial reported \"tokens\" (they told peak_gpu_bytes, "
                                    "step_s, throughput); it reported no tokens") !=
        std::string::npos);
  for (Verdict& verdict : stage.verdicts) verdict.metrics.user["token"] = 5.0;
  CHECK(conclude().result->why.ends_with("did you mean \"token\"?"));
  // One that reports it is enough to go on.
  stage.verdicts.front().metrics.user["tokens"] = 5.0;
  CHECK_FALSE(conclude().stop);
}

TEST_CASE("reduce: an experiment whose runner died says so among the failures", "[analyze]") {
  const StudyInput input = deepspeed_input();
  const Plan plan = small_plan();
  StageHistory stage = profile_of(input, plan, usual_machine());
  Verdict& lost = stage.verdicts.back();
  const ExperimentId id = lost.experiment;
  lost = failed(stage.manifest.experiments.back(), Outcome::not_started, "task 2: the runner died");
  lost.reason = lost_task;
  CHECK(reduced(input, plan, {stage}).decision.missing == std::vector{id});
  const TuningResult result =
      ResultAnalyzer(input, plan).result(std::vector{stage}, {}, Stop::gain);
  const auto told = std::find_if(result.failures.begin(), result.failures.end(),
                                 [&](const Failure& failure) { return failure.experiment == id; });
  REQUIRE(told != result.failures.end());
  CHECK(told->line == "task 2: the runner died");
}

TEST_CASE("reduce: a figure near the largest or smallest double costs its experiment only",
          "[analyze]") {
  StudyInput input = deepspeed_input();
  const Plan plan = small_plan();
  using Spoil = std::function<void(Verdict&, double)>;
  const std::vector<Spoil> spoils{[](Verdict& v, double x) {
                                    v.metrics.throughput = Interval{x, x, x};
                                  },
                                  [](Verdict& v, double x) {
                                    v.metrics.step_s = Interval{x, x, x};
                                  },
                                  [](Verdict& v, double x) { v.metrics.peak_gpu_bytes = x; },
                                  [](Verdict& v, double x) { v.metrics.params = x; },
                                  [](Verdict& v, double x) { v.hardware.gpu_bytes = x; },
                                  [](Verdict& v, double x) { v.metrics.user["big"] = x; }};
  for (const std::string metric : {"throughput", "throughput * big", "big"}) {
    input.spec.objective.metric = metric;
    for (const double extreme : {1.7e308, 1e155, 1e-155, 1e-307}) {
      for (std::size_t i = 0; i < spoils.size(); ++i) {
        INFO(metric << ", figure " << i << " is " << extreme);
        StageHistory stage = profile_of(input, plan, usual_machine());
        for (Verdict& verdict : stage.verdicts) verdict.metrics.user["big"] = 2.0;
        for (std::size_t at : {std::size_t{0}, stage.verdicts.size() - 1}) {
          spoils[i](stage.verdicts[at], extreme);
        }
        const Reduction reduction = reduced(input, plan, {stage});
        const auto bytes = render_decision(reduction.decision);
        CHECK(bytes);
        if (reduction.next) CHECK(render_manifest(*reduction.next));
        const TuningResult result =
            ResultAnalyzer(input, plan).result(std::vector{stage}, {}, Stop::gain);
        REQUIRE(result.best);
        CHECK(std::isfinite(result.probability_best));
        if ((i == 0 && metric != "big") || (i == 5 && metric != "throughput")) {
          CHECK(result.best->throughput.mid < 1e6);
          CHECK(result.baseline_outcome == Outcome::ok);
          CHECK_FALSE(result.baseline);  // the first one spoilt
          CHECK(result.why.find("is not ranked") != std::string::npos);
        }
      }
    }
  }
}
