// SPDX-License-Identifier: MIT
#include "slurmtune/plan/objective_names.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

TEST_CASE("objective names: metrics, parameters and a pattern's groups are known", "[plan]") {
  StudyInput input = generic_input();
  input.spec.measure.source = MeasureSource::pattern;
  input.spec.measure.pattern = "step (?<step>[0-9]+) at (?<tokens>[0-9]+) tokens/s";
  for (const std::string metric :
       {"throughput", "tokens / x", "step_s", "2 * peak_gpu_bytes", "gpu_utilisation"}) {
    INFO(metric);
    input.spec.objective.metric = metric;
    const auto notes = check_objective_names(input);
    REQUIRE(notes);
    CHECK(notes->empty());
  }
  input = deepspeed_input();
  input.spec.objective.metric = "throughput / micro_batch";
  input.spec.objective.subject_to = {{"peak_gpu_bytes <= 0.9 * gpu_bytes", 7}};
  CHECK(check_objective_names(input).value().empty());
}

TEST_CASE("objective names: one that is nearly known is refused where its source is known",
          "[plan]") {
  StudyInput input = deepspeed_input();
  input.spec.path = "study.toml";
  input.spec.measure.source = MeasureSource::deepspeed;
  input.spec.objective.metric = "thruput";
  input.spec.objective.line = 12;
  const auto refused = check_objective_names(input);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::invalid_input);
  CHECK(refused.error().message ==
        "study.toml:12: the objective speaks of \"thruput\", which nothing reports; did you mean "
        "\"throughput\"?");
  input.spec.objective.metric = "throughput";
  input.spec.objective.subject_to = {{"peak_gpu_byte < 10", 14}};
  CHECK(check_objective_names(input).error().message.find("study.toml:14: ") == 0);
  input.spec.objective.subject_to = {{"my_throughput > 20", 14}};
  CHECK(check_objective_names(input));
  // A name of the trial's own is the trial's to report.
  input.spec.objective.subject_to = {{"validation_perplexity < 20", 14}};
  const auto notes = check_objective_names(input);
  REQUIRE(notes);
  REQUIRE(notes->size() == 1);
  CHECK(notes->front().find("\"validation_perplexity\"") != std::string::npos);
}

TEST_CASE("objective names: with a metrics file any name may come, and a near one is asked about",
          "[plan]") {
  StudyInput input = generic_input();
  input.spec.objective.metric = "thruput";
  const auto notes = check_objective_names(input);
  REQUIRE(notes);
  REQUIRE(notes->size() == 1);
  CHECK(notes->front().ends_with("did you mean \"throughput\"?"));
}

TEST_CASE("objective names: with a metrics file, a slip is refused and another unit is not",
          "[plan]") {
  StudyInput input = generic_input();
  input.spec.path = "study.toml";
  for (const std::string slip : {"throughputt", "thoughput", "peak_gpu_byte"}) {
    INFO(slip);
    input.spec.objective.metric = slip;
    CHECK_FALSE(check_objective_names(input));
  }
  for (const std::string own : {"step_ms", "throughput_2", "tokens_per_s"}) {
    INFO(own);
    input.spec.objective.metric = own;
    const auto notes = check_objective_names(input);
    REQUIRE(notes);
    CHECK(notes->size() == 1);
  }
}

TEST_CASE("objective names: an objective or a limit without a metric is refused", "[plan]") {
  StudyInput input = generic_input();
  input.spec.path = "study.toml";
  input.spec.objective.line = 9;
  input.spec.objective.metric = "1 / 0";
  const auto refused = check_objective_names(input);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().message.starts_with("study.toml:9: \"1 / 0\" speaks of no metric"));
  input.spec.objective.metric = "throughput";
  input.spec.objective.subject_to = {{"3", 11}};
  CHECK_FALSE(check_objective_names(input));
}
