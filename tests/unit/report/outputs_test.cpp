// SPDX-License-Identifier: MIT
#include "slurmtune/report/outputs.hpp"

#include <filesystem>

#include <nlohmann/json.hpp>
#include <sys/stat.h>

#include "slurmtune/report/results_csv.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/report/report_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

Expected<void> write(const ReportedStudy& study, const TuningResult& result) {
  return write_outputs(study.place(), study.input, study.view.plan, study.view, result);
}

}  // namespace

TEST_CASE("a result's files are written, and the same again when they are rebuilt", "[report]") {
  const ReportedStudy study = ReportedStudy::confirmed();
  const TuningResult result = study.result();
  REQUIRE(write(study, result));
  std::map<std::string, std::string> first;
  for (const std::string name : {"best/ds_config_optimal.json", "best/cmd_optimal.sh",
                                 "best/train_optimal.sbatch", "best/summary.txt", "results.csv"}) {
    INFO(name);
    first[name] = study.file(name);
    CHECK_FALSE(first[name].empty());
  }
  REQUIRE(write(study, result));
  for (const auto& [name, text] : first) {
    INFO(name);
    CHECK(study.file(name) == text);
  }
  struct stat status {};
  REQUIRE(::stat((study.place().best() / "cmd_optimal.sh").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0700U);
}

TEST_CASE("the optimal ds_config is the user's with the winner's values", "[report]") {
  ReportedStudy study = ReportedStudy::confirmed();
  study.input.spec.deepspeed->config_json = R"({"fp16":{"enabled":true},"steps_per_print":50})";
  REQUIRE(write(study, study.result()));
  const Json config = Json::parse(study.file("best/ds_config_optimal.json"));
  CHECK(config.at("zero_optimization").at("stage") == 1);
  CHECK(config.at("train_micro_batch_size_per_gpu") == 4);
  CHECK(config.at("gradient_accumulation_steps") == 2);
  CHECK(config.at("fp16").at("enabled") == true);
  CHECK(config.at("steps_per_print") == 50);
  CHECK_FALSE(config.contains("autotuning"));
}

TEST_CASE("the summary has a row a ZeRO stage and one over all", "[report]") {
  const ReportedStudy study = ReportedStudy::confirmed();
  REQUIRE(write(study, study.result()));
  const std::string text = study.file("best/summary.txt");
  CHECK(text.starts_with("| tuning_space | num_experiments |"));
  CHECK(contains(text, "| z1           |               4 |"));
  CHECK(contains(text, "| z2           |               0 |               - | - |"));
  CHECK(contains(text, "| global       |               9 |"));
  CHECK(contains(text, "finished (gain)"));
}

TEST_CASE("without a best there is no configuration to use, only what was seen", "[report]") {
  const ReportedStudy study = ReportedStudy::hopeless();
  REQUIRE(write(study, study.result(Stop::baseline_config_error)));
  CHECK(contains(study.file("best/summary.txt"), "KeyError: 'optimizer'"));
  CHECK(contains(study.file("results.csv"), "config_error"));
  CHECK_FALSE(std::filesystem::exists(study.place().best() / "ds_config_optimal.json"));
  CHECK_FALSE(std::filesystem::exists(study.place().best() / "cmd_optimal.sh"));
  CHECK_FALSE(std::filesystem::exists(study.place().best() / "train_optimal.sbatch"));
}

TEST_CASE("a generic study has no ds_config", "[report]") {
  ReportedStudy study(generic_input());
  const Configuration fast{{{"x", std::int64_t{2}}, {"y", std::int64_t{4}}}};
  const Experiment experiment = ReportedStudy::labelled(fast, Purpose::grid);
  study.manifest(0, {experiment});
  study.shard(0, {ok(experiment, 5.0)});
  REQUIRE(write(study, study.result()));
  CHECK_FALSE(std::filesystem::exists(study.place().best() / "ds_config_optimal.json"));
  CHECK(contains(study.file("best/cmd_optimal.sh"), "run 2 4\n"));
  CHECK(contains(study.file("best/summary.txt"), "| all "));
}

TEST_CASE("results.csv has one row a verdict and one column a parameter", "[report]") {
  ReportedStudy study = ReportedStudy::confirmed();
  study.view.stages[1] = {};
  study.view.stages[0].manifest->experiments[1].label = "a,\"b\"";
  const std::string id0 = study.view.stages[0].manifest->experiments[0].id.text;
  const std::string text = render_results_csv(study.input, study.view);
  CHECK(text.starts_with(
      "experiment,label,stage,purpose,repeat,attempt,outcome,throughput_low,throughput_mid,"
      "throughput_high,step_s,peak_gpu_bytes,nodes,started,wall_s,objective,"
      "gradient_accumulation,micro_batch,zero_stage\n" +
      id0 +
      ",z0_gas2_tmbspg1,01-profile,baseline,0,0,ok,99.5,100,100.49999999999999,,,n1 n2,"
      "2026-11-30T21:00:00.000Z,0,100,2,1,0\n"));
  CHECK(contains(text, ",\"a,\"\"b\"\"\",01-profile,"));
  CHECK(std::count(text.begin(), text.end(), '\n') == 4);
  CHECK(contains(text, ",gpu_oom,,,,,,n1 n2,"));
}

TEST_CASE("results.csv has the objective, whatever it is", "[report]") {
  StudyInput input = generic_input();
  input.spec.objective.metric = "2 * cost";
  input.spec.objective.direction = Direction::minimize;
  ReportedStudy study(input);
  const Configuration configuration{{{"x", std::int64_t{2}}, {"y", std::int64_t{4}}}};
  const Experiment works = ReportedStudy::labelled(configuration, Purpose::grid);
  Verdict verdict = ok(works, 80.0);
  verdict.metrics.user["cost"] = 3.5;
  study.manifest(0, {works});
  study.shard(0, {verdict});
  const std::string text = render_results_csv(study.input, study.view);
  CHECK(contains(text, ",wall_s,objective,x,y\n"));
  CHECK(contains(text, "Z,0,7,2,4\n"));
  study.view.stages[0].shards[0].verdicts[0].outcome = Outcome::nan;
  CHECK(contains(render_results_csv(study.input, study.view), "Z,0,,2,4\n"));
}

TEST_CASE("results.csv of no verdicts is its header", "[report]") {
  const ReportedStudy study;
  const std::string text = render_results_csv(study.input, study.view);
  CHECK(std::count(text.begin(), text.end(), '\n') == 1);
}

TEST_CASE("a place that cannot be written is said", "[report]") {
  const ReportedStudy study = ReportedStudy::confirmed();
  study.directory().write("study", "a file in the way");
  const auto written = write(study, study.result());
  REQUIRE_FALSE(written);
  CHECK(written.error().kind == ErrorKind::unavailable);
}
