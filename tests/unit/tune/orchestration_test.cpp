// SPDX-License-Identifier: MIT
//
// S-01: one class did configuration, generation, scheduling, analysis and printing. Here three
// owners do, each usable without the others, and the Autotuner only orchestrates them.

#include <algorithm>
#include <fstream>
#include <sstream>

#include "slurmtune/analyze/result_analyzer.hpp"
#include "slurmtune/execute/tuning_executor.hpp"
#include "slurmtune/generate/experiment_generator.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/tune/simulated_study.hpp"

using namespace slurmtune;

TEST_CASE("S-01: experiments are generated without a batch system and without files", "[tune]") {
  SimulatedStudy study;
  const StudyInput input = study.directory().read_input().value();
  const Plan plan = study.directory().read_plan().value();
  const Manifest manifest = ExperimentGenerator(input).generate(stage_request(plan, 0), {}).value();
  CHECK(manifest == *study.directory().read_manifest(plan.stages[0].name).value());
}

TEST_CASE("S-01: results are analyzed without a batch system and without files", "[tune]") {
  SimulatedStudy study;
  const StudyInput input = study.directory().read_input().value();
  const Plan plan = study.directory().read_plan().value();
  StageHistory history{*study.directory().read_manifest(plan.stages[0].name).value(), {}};
  for (const Experiment& experiment : history.manifest.experiments) {
    Verdict& verdict = history.verdicts.emplace_back();
    verdict.experiment = experiment.id;
    verdict.configuration = experiment.configuration_id;
    SimulatedStudy::model_trial(experiment, verdict);
  }
  const auto reduction = ResultAnalyzer(input, plan).reduce({&history, 1}, {});
  REQUIRE(reduction);
  CHECK(reduction->decision.best);
  CHECK(reduction->next);
}

TEST_CASE("S-01: jobs are executed without a study", "[tune]") {
  ManualClock clock;
  const TemporaryDirectory directory;
  const std::string script = (directory.path() / "job.sh").string();
  std::ofstream(script) << "#!/bin/bash\nsleep 1\n";
  TuningExecutor executor(std::make_unique<FakeScheduler>(clock));
  JobRequest request;
  request.name = "st-x";
  request.script = script;
  request.workdir = directory.path().string();
  const auto job = executor.submit(request);
  REQUIRE(job);
  CHECK(executor.find("st-x").value() == *job);
}

TEST_CASE("S-01: the Autotuner sees none of the parts of what it orchestrates", "[tune]") {
  std::ostringstream text;
  text << std::ifstream(std::string(SLURMTUNE_SOURCE_DIR) + "/src/slurmtune/tune/autotuner.cpp")
              .rdbuf();
  REQUIRE(text.str().find("ResultAnalyzer(") != std::string::npos);
  for (const char* part : {"slurmtune/search/", "slurmtune/model/", "slurmtune/space/",
                           "execute/slurm_cli", "execute/local", "execute/libslurm", "printf"}) {
    CAPTURE(part);
    CHECK(text.str().find(part) == std::string::npos);
  }
}
