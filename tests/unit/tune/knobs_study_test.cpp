// SPDX-License-Identifier: MIT
//
// Whole studies with fast = false, on a simulated cluster.

#include <algorithm>
#include <string>

#include <nlohmann/json.hpp>

#include "slurmtune/study/files.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/tune/simulated_study.hpp"

using namespace slurmtune;

namespace {

const std::string zo = "zero_optimization.";
const std::string bucket = zo + "reduce_bucket_size";
const std::string device = zo + "offload_optimizer.device";

std::string study_of(const std::string& deepspeed, const std::string& search = "",
                     const std::string& rest = "") {
  std::string text = SimulatedStudy::deepspeed_study();
  text.replace(text.find("zero_stages"), 0, deepspeed + "\n");
  return text + search + rest;
}

bool has_knobs(const Configuration& configuration) {
  return std::ranges::any_of(configuration.values, [](const auto& entry) {
    return entry.first.find('.') != std::string::npos || entry.first.find(':') != std::string::npos;
  });
}

bool is_set(const Configuration& configuration, const std::string& name, const Value& value) {
  const auto found = configuration.values.find(name);
  return found != configuration.values.end() && found->second == value;
}

void speed_up(Verdict& verdict, double factor) {
  if (verdict.outcome != Outcome::ok) return;
  for (double* step : {&verdict.metrics.step_s->low, &verdict.metrics.step_s->mid,
                       &verdict.metrics.step_s->high}) {
    *step /= factor;
  }
  for (double* speed : {&verdict.metrics.throughput->low, &verdict.metrics.throughput->mid,
                        &verdict.metrics.throughput->high}) {
    *speed *= factor;
  }
}

/// A bucket and a way of reducing that are better than DeepSpeed's own.
void planted(const Experiment& experiment, Verdict& verdict) {
  SimulatedStudy::model_trial(experiment, verdict);
  const Configuration& configuration = experiment.configuration;
  if (is_set(configuration, bucket, std::int64_t{200'000'000})) speed_up(verdict, 1.10);
  if (is_set(configuration, "env:NCCL_ALGO", std::string("Tree"))) speed_up(verdict, 1.06);
  if (is_set(configuration, zo + "reduce_scatter", false)) speed_up(verdict, 0.7);
}

std::int64_t asked_by_knobs(SimulatedStudy& study) {
  std::int64_t count = 0;
  for (const StageView& stage : study.view().stages) {
    if (!stage.manifest) continue;
    for (const Experiment& experiment : stage.manifest->experiments) {
      count += experiment.purpose == Purpose::knobs ? 1 : 0;
    }
  }
  return count;
}

void finish(SimulatedStudy& study) {
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  INFO(study.last_error());
  REQUIRE(study.state().finished);
}

}  // namespace

TEST_CASE("a study with fast = false finds planted knobs, together, and confirms them", "[tune]") {
  SimulatedStudy study(study_of("fast = false"));
  study.trial = planted;
  finish(study);
  const TuningResult result = study.result();
  INFO(result.why);
  REQUIRE(result.best);
  const Configuration best{result.best->values};
  CHECK(best.integer("zero_stage") == 1);
  CHECK(best.integer("micro_batch") == 8);
  CHECK(is_set(best, bucket, std::int64_t{200'000'000}));
  CHECK(is_set(best, "env:NCCL_ALGO", std::string("Tree")));
  CHECK(result.best->repeats >= 3);
  CHECK(asked_by_knobs(study) <= 50);

  const auto optimal =
      nlohmann::json::parse(read_file(study.directory().best() / "ds_config_optimal.json").value());
  CHECK(optimal["zero_optimization"]["reduce_bucket_size"] == 200'000'000);
  CHECK(optimal["optimizer"]["params"]["lr"] == 0.001);  // the user's own keys stay
  for (const std::string script : {"cmd_optimal.sh", "train_optimal.sbatch"}) {
    const std::string text = read_file(study.directory().best() / script).value();
    CHECK(text.find("export NCCL_ALGO=Tree") != std::string::npos);
  }
  const std::string summary = read_file(study.directory().best() / "summary.txt").value();
  CHECK(summary.find("| z1_knobs ") != std::string::npos);
  CHECK(summary.find("| z1 ") != std::string::npos);
  CHECK(summary.find("knobs of zero_stage=1\n    zero_optimization.reduce_bucket_size = "
                     "200000000: 1.1 times as good") != std::string::npos);
}

TEST_CASE("the knobs stage measures few steps first, and the survivors longer", "[tune]") {
  SimulatedStudy study(study_of("fast = false"));
  study.trial = planted;
  finish(study);
  std::map<int, std::pair<int, std::int64_t>> rounds;  // steps, experiments
  for (const StageView& stage : study.view().stages) {
    if (!stage.manifest) continue;
    for (const Experiment& experiment : stage.manifest->experiments) {
      if (experiment.purpose != Purpose::knobs) continue;
      auto& [steps, count] = rounds[stage.manifest->round];
      steps = experiment.max_steps;
      ++count;
      CHECK(stage.manifest->incumbent);  // so that hopeless trials end early
    }
  }
  REQUIRE(rounds.size() == 3);
  CHECK(rounds[0].first == 8);
  CHECK(rounds[1].first == 24);
  CHECK(rounds[2].first == 40);
  CHECK(rounds[0].second == 35);  // with 11 and 3 within the 50 of knob_experiments
  CHECK(rounds[1].second <= 11);
  CHECK(rounds[2].second <= 3);
}

TEST_CASE("with fast = true no knob is planned, run or proposed", "[tune]") {
  SimulatedStudy study(study_of("fast = true"));
  study.trial = planted;
  for (const PlannedStage& stage : study.view().plan.stages) CHECK(stage.kind != Purpose::knobs);
  finish(study);
  for (const StageView& stage : study.view().stages) {
    if (!stage.manifest) continue;
    for (const Experiment& experiment : stage.manifest->experiments) {
      CHECK_FALSE(has_knobs(experiment.configuration));
    }
  }
}

TEST_CASE("knob_experiments, knob_patience and max_experiments hold", "[tune]") {
  SECTION("a cap") {
    SimulatedStudy study(study_of("fast = false", "knob_experiments = 9\n"));
    study.trial = planted;
    finish(study);
    CHECK(asked_by_knobs(study) > 0);
    CHECK(asked_by_knobs(study) <= 9);
    CHECK(study.result().best);
  }
  SECTION("patience: nothing gains, so it ends") {
    SimulatedStudy study(study_of("fast = false", "knob_patience = 4\n"));
    study.trial = [](const Experiment& experiment, Verdict& verdict) {
      SimulatedStudy::model_trial(experiment, verdict);
      if (has_knobs(experiment.configuration)) speed_up(verdict, 0.9);
    };
    finish(study);
    CHECK(asked_by_knobs(study) == 4);
    CHECK_FALSE(has_knobs(Configuration{study.result().best->values}));
  }
  SECTION("the study's own budget") {
    SimulatedStudy study(study_of("fast = false", "", "[budget]\nmax_experiments = 40\n"));
    study.trial = planted;
    finish(study);
    CHECK(study.result().experiments_run <= 40);
    CHECK(study.result().best);
  }
}

TEST_CASE("offload makes a larger micro-batch fit, and wins where that is faster", "[tune]") {
  SimulatedStudy study(study_of("fast = false"));
  study.trial = [](const Experiment& experiment, Verdict& verdict) {
    Experiment as_if = experiment;
    const bool eased = is_set(experiment.configuration, device, std::string("cpu"));
    const auto micro = experiment.configuration.integer("micro_batch").value();
    if (eased && micro > 1) {  // it needs the memory of half the micro-batch
      as_if.configuration.values["micro_batch"] = micro / 2;
      as_if.configuration.values["gradient_accumulation"] = 32 / micro;
    }
    SimulatedStudy::model_trial(as_if, verdict);
    if (eased) speed_up(verdict, micro == 16 ? 1.25 : 0.95);
  };
  finish(study);
  const TuningResult result = study.result();
  REQUIRE(result.best);
  const Configuration best{result.best->values};
  CHECK(best.integer("micro_batch") == 16);
  CHECK(is_set(best, device, std::string("cpu")));
}

TEST_CASE("where no ZeRO stage fits, offload rescues the study", "[tune]") {
  const auto tight = [](const Experiment& experiment, Verdict& verdict) {
    SimulatedStudy::model_trial(experiment, verdict);
    if (is_set(experiment.configuration, device, std::string("cpu"))) return;
    verdict = Verdict();
    verdict.experiment = experiment.id;
    verdict.configuration = experiment.configuration_id;
    verdict.nodes = {"n1"};
    verdict.source = "simulated";
    verdict.hardware.gpu_bytes = 40e9;
    verdict.outcome = Outcome::gpu_oom;
    verdict.reason = "rule:torch-cuda-oom";
    verdict.evidence = Evidence{.rank = 0,
                                .node = "n1",
                                .exit_code = 1,
                                .signal = std::nullopt,
                                .log = "logs/x",
                                .line = "CUDA out of memory"};
  };
  SECTION("fast = false") {
    SimulatedStudy study(study_of("fast = false"));
    study.trial = tight;
    finish(study);
    const TuningResult result = study.result();
    INFO(result.why);
    REQUIRE(result.best);
    CHECK(is_set(Configuration{result.best->values}, device, std::string("cpu")));
    CHECK(Configuration{result.best->values}.integer("micro_batch") > 1);
    CHECK(result.baseline_outcome == Outcome::gpu_oom);
  }
  SECTION("fast = true says what would help") {
    SimulatedStudy study(study_of("fast = true"));
    study.trial = tight;
    finish(study);
    const TuningResult result = study.result();
    CHECK_FALSE(result.best);
    CHECK(result.why.find("fast = false would try offload") != std::string::npos);
  }
}

TEST_CASE("the study's own parameters are tuned after ZeRO stage and batch", "[tune]") {
  SimulatedStudy study(study_of("fast = false", "",
                                "[[parameter]]\nname = \"threads\"\ntype = \"int\"\n"
                                "values = [1, 2, 4]\ntarget = \"env:THREADS\"\n"));
  study.trial = [](const Experiment& experiment, Verdict& verdict) {
    SimulatedStudy::model_trial(experiment, verdict);
    if (experiment.configuration.integer("threads") == 4) speed_up(verdict, 1.2);
  };
  finish(study);
  REQUIRE(study.result().best);
  CHECK(Configuration{study.result().best->values}.integer("threads") == 4);
}
