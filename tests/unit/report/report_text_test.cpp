// SPDX-License-Identifier: MIT
#include <cctype>

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"
#include "tests/unit/report/report_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

TEST_CASE("a report names the winner, its proof and the baseline", "[report]") {
  const ReportedStudy study = ReportedStudy::confirmed();
  const std::string text = study.text(study.result());
  CHECK(contains(text, "Best configuration\n  z1_gas2_tmbspg4\n"));
  CHECK(contains(
      text, "  gradient_accumulation 2\n  micro_batch           4\n  zero_stage            1\n"));
  CHECK(contains(text, "3 repeats"));
  CHECK(contains(text, "samples/s (95 % interval"));
  CHECK(contains(text, "with probability more than 0.998"));
  CHECK(contains(text, "speed-up       1.4 times (95 % interval 1.4 to 1.4)"));
  CHECK(contains(text, "Baseline: the configuration as it was\n  z0_gas2_tmbspg1\n"));
  CHECK_FALSE(contains(text, "\x1b"));
  CHECK(contains(study.text(study.result(), Colour::ansi), "\x1b[32m"));
}

TEST_CASE("a report tells failures in the trial's own words, and where their logs are",
          "[report]") {
  const ReportedStudy study = ReportedStudy::confirmed();
  const std::string text = study.text(study.result());
  CHECK(contains(text,
                 "z3_gas2_tmbspg32 gpu_oom\n    CUDA out of memory. Tried to allocate 2.00 GiB"));
  CHECK(contains(text, study.place().root().string() + "/stages/01-profile/logs/z3.log"));
  // One row a ZeRO stage; of one that never worked there is no best.
  CHECK(contains(text, "  z3               1       1          -  -\n"));
}

TEST_CASE("a report of a study in which nothing worked recommends nothing and says why",
          "[report]") {
  const ReportedStudy study = ReportedStudy::hopeless();
  const std::string text = study.text(study.result(Stop::baseline_config_error));
  CHECK(contains(text, "No configuration can be recommended"));
  CHECK(contains(text, "KeyError: 'optimizer'"));
  CHECK(contains(text, "/stages/01-profile/logs/baseline.log"));
  CHECK(contains(text, "not measured: config_error"));
  CHECK_FALSE(contains(text, "Best configuration"));
  CHECK_FALSE(contains(text, "Ranking"));
}

TEST_CASE("a report before any experiment is a text", "[report]") {
  const ReportedStudy study;
  const std::string text = study.text(study.result(Stop::cancelled));
  CHECK(contains(text, "under way"));
  CHECK(contains(text, "nothing was run"));
  CHECK(contains(text, "0 experiments"));
}

TEST_CASE("a report takes labels of any length", "[report]") {
  ReportedStudy study = ReportedStudy::confirmed();
  TuningResult result = study.result();
  const std::string label(300, 'q');
  result.ranking.at(1).label = label;
  const std::string text = study.text(result);
  CHECK(contains(text, label));
  // The figures of both rows end where their heading does.
  const auto line = [&](const std::string& part) {
    const std::size_t at = text.find(part);
    const std::size_t begin = text.rfind('\n', at) + 1;
    return text.substr(begin, text.find('\n', at) - begin);
  };
  const std::string heading = line("configuration  ");
  const std::size_t end = heading.find("samples/s") + std::string("samples/s").size();
  for (const std::string& row : {line("1  z1_gas2_tmbspg4"), line("2  " + label)}) {
    INFO(row);
    CHECK(std::isdigit(static_cast<unsigned char>(row.at(end - 1))) != 0);
    CHECK(row.substr(end, 2) == "  ");
  }
}

TEST_CASE("a report as JSON holds the whole result", "[report]") {
  const ReportedStudy study = ReportedStudy::confirmed();
  const TuningResult result = study.result();
  const Json json = report_json({study.place(), study.input, study.view, result});
  CHECK(json.at("format") == "slurmtune.report");
  CHECK(json.at("version") == 1);
  CHECK(json.at("unit") == "samples/s");
  const auto again = tuning_result_from_json(json.at("result"), "test");
  REQUIRE(again);
  CHECK(*again == result);
  CHECK(json.at("spaces").at(1).at("best") == "z1_gas2_tmbspg4");
  CHECK(json.at("spaces").at(3).at("failed") == 1);
  CHECK(json.at("logs").size() == 1);
  CHECK_FALSE(json.at("conclusions").empty());
}

TEST_CASE("a report of a study of step times shows seconds, or samples/s where trials tell them",
          "[report]") {
  StudyInput input = generic_input();
  input.spec.objective.metric = "step_s";
  input.spec.objective.direction = Direction::minimize;
  ReportedStudy study(input);
  const Configuration fast{{{"x", std::int64_t{2}}, {"y", std::int64_t{4}}}};
  const Experiment experiment = ReportedStudy::labelled(fast, Purpose::grid);
  Verdict verdict = ok(experiment, 80.0);
  verdict.metrics.step_s = about(0.25);
  study.manifest(0, {experiment});
  study.shard(0, {verdict});
  CHECK(contains(study.text(study.result()), "80 samples/s"));
  study.view.stages[0].shards[0].verdicts[0].metrics.throughput.reset();
  const std::string text = study.text(study.result());
  INFO(text);
  CHECK(contains(text, " 0.25 s (95 % interval 0.24"));
}

TEST_CASE("a report says so where it tells only the first failures", "[report]") {
  const ReportedStudy study = ReportedStudy::confirmed();
  TuningResult result = study.result();
  CHECK_FALSE(contains(study.text(result), "results.csv has all"));
  result.failures.resize(20, result.failures.front());
  CHECK(contains(study.text(result), "(the first 20; results.csv has all)"));
}
