// SPDX-License-Identifier: MIT
#include <cctype>

#include <nlohmann/json.hpp>

#include "slurmtune/space/space.hpp"

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
  CHECK(contains(text, ", 4 times the baseline's "));
  CHECK(contains(text, "by 4 with SGD (Goyal et al. 2017), by 2 with Adam and its kin"));
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

TEST_CASE("a report names nodes that are slow against all that the study has seen", "[report]") {
  ReportedStudy study;
  // One node a task: no task can compare.
  for (const auto& [name, rate] :
       std::map<std::string, double>{{"n1", 100e9}, {"n2", 101e9}, {"n3", 55e9}, {"n4", 99e9}}) {
    study.shard(0, {});
    NodeRecord node;
    node.facts.node = name;
    node.figures.memory_bytes_per_s = rate;
    study.view.stages[0].shards.back().nodes.push_back(node);
  }
  const std::string text = study.text(study.result());
  CHECK(contains(text, "Slow nodes\n  n3: memory_bytes_per_s 5.5e+10, 45 % below the median"));
  CHECK(contains(text, "[slurm] exclude = [\"n3\"]"));
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

namespace {

/// Two of the space, each measured once: x-1_y-1, the baseline, and x-2_y-4 of twice the step time.
ReportedStudy of_objective(const std::string& metric, Direction direction) {
  StudyInput input = generic_input();
  input.spec.objective.metric = metric;
  input.spec.objective.direction = direction;
  ReportedStudy study(input);
  const Configuration other{{{"x", std::int64_t{2}}, {"y", std::int64_t{4}}}};
  const Configuration baseline = make_space(input.spec)->baseline();
  std::vector<Experiment> experiments{ReportedStudy::labelled(baseline, Purpose::baseline),
                                      ReportedStudy::labelled(other, Purpose::grid)};
  std::vector<Verdict> verdicts{ok(experiments[0], 80.0), ok(experiments[1], 160.0)};
  verdicts[0].metrics.step_s = about(0.25);
  verdicts[0].metrics.user["cost"] = 8.0;
  verdicts[1].metrics.step_s = about(0.5);
  verdicts[1].metrics.user["cost"] = 6.0;
  study.manifest(0, std::move(experiments));
  study.shard(0, std::move(verdicts));
  return study;
}

}  // namespace

TEST_CASE("a report shows a minimized objective itself, the smallest first", "[report]") {
  const ReportedStudy study = of_objective("cost", Direction::minimize);
  const std::string text = study.text(study.result());
  INFO(text);
  CHECK(contains(text, "x-2_y-4 has 0.75 times the cost of the baseline "));
  CHECK(contains(text, "objective      cost = 6 (95 % interval 6 to 6), one run"));
  CHECK(contains(text, "objective      cost = 8 (95 % interval 8 to 8)"));
  CHECK(contains(text, "ratio          0.75 times the cost (95 % interval 0.75 to 0.75)"));
  CHECK(contains(text, "Ranking: lower cost is better\n"));
  CHECK(contains(text, "configuration  cost  95 % interval"));
  CHECK(text.find("1  x-2_y-4") < text.find("2  x-"));
  CHECK_FALSE(contains(text, "1/("));
  CHECK_FALSE(contains(text, "fast"));
  CHECK_FALSE(contains(text, "speed-up"));
  CHECK(report_json({study.place(), study.input, study.view, study.result()}).at("unit") == "cost");
  CHECK(contains(progress_line(study.input, study.view), ", best so far x-2_y-4 cost = 6, "));
}

TEST_CASE("a report of what is maximized and no speed speaks of no speed", "[report]") {
  const ReportedStudy study = of_objective("cost", Direction::maximize);
  const std::string text = study.text(study.result());
  INFO(text);
  CHECK(contains(text, " is the best that was measured: nothing to change"));
  CHECK_FALSE(contains(text, "fast"));
  CHECK(contains(text, "Ranking: higher cost is better\n"));
  CHECK(contains(text, "cost = 8 (95 % interval 8 to 8), one run"));
}

TEST_CASE("a report of a study of step times shows them, the shortest first", "[report]") {
  const ReportedStudy study = of_objective("step_s", Direction::minimize);
  const std::string text = study.text(study.result());
  INFO(text);
  CHECK(contains(text, " is the fastest that was measured: nothing to change"));
  CHECK(contains(text, "objective      step_s = 0.25 s (95 % interval 0.24"));
  CHECK(contains(text, "configuration  step_s  95 % interval"));
  CHECK_FALSE(contains(text, "samples/s"));
  CHECK(contains(progress_line(study.input, study.view), ", fastest x-"));
}

TEST_CASE("a report says so where it tells only the first failures", "[report]") {
  const ReportedStudy study = ReportedStudy::confirmed();
  TuningResult result = study.result();
  CHECK_FALSE(contains(study.text(result), "results.csv has all"));
  result.failures.resize(20, result.failures.front());
  CHECK(contains(study.text(result), "(the first 20; results.csv has all)"));
}

TEST_CASE("a report of a study without GPUs calls the peaks host memory", "[report]") {
  ReportedStudy study = ReportedStudy::confirmed();
  for (StageView& stage : study.view.stages) {
    for (Shard& shard : stage.shards) {
      for (Verdict& verdict : shard.verdicts) verdict.metrics.peak_gpu_bytes = 3.0 * gib;
    }
  }
  CHECK(contains(study.text(study.result()), "peak memory"));
  CHECK_FALSE(contains(study.text(study.result()), "host memory"));
  for (StageView& stage : study.view.stages) {
    for (Shard& shard : stage.shards) {
      for (Verdict& verdict : shard.verdicts) {
        verdict.hardware = {};
        verdict.hardware.cores = 8;
      }
    }
  }
  const std::string text = study.text(study.result());
  CHECK(contains(text, "  peak host memory "));
  CHECK_FALSE(contains(text, "GPU memory"));
  CHECK_FALSE(contains(text, "  peak memory"));
}
