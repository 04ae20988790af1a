// SPDX-License-Identifier: MIT
//
// Failed experiments are run again once their user has mended what made them fail.

#include <algorithm>
#include <map>

#include "slurmtune/study/files.hpp"
#include "slurmtune/tune/retry.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/tune/simulated_study.hpp"

using namespace slurmtune;

namespace {

/// The file system of the library was not mounted: nothing starts.
void no_library(const Experiment& /*experiment*/, Verdict& verdict) {
  verdict.outcome = Outcome::launch_error;
  verdict.reason = "rule:loader";
  verdict.evidence.emplace().line = "libfoo.so: cannot open shared object file";
}

/// Trials of ZeRO stage 2 die by a mistake in the program.
void bad_program(const Experiment& experiment, Verdict& verdict) {
  SimulatedStudy::model_trial(experiment, verdict);
  if (experiment.configuration.integer("zero_stage") != 2) return;
  verdict.outcome = Outcome::config_error;
  verdict.reason = "exit_code";
  verdict.metrics = {};
}

/// Outcomes of every experiment, one for each of its verdicts, in the order of attempts.
std::map<ExperimentId, std::map<int, Outcome>> outcomes_of(const StudyView& view) {
  std::map<ExperimentId, std::map<int, Outcome>> outcomes;
  for (const StageView& stage : view.stages) {
    for (const Shard& shard : stage.shards) {
      for (const Verdict& verdict : shard.verdicts) {
        outcomes[verdict.experiment][verdict.attempt] = verdict.outcome;
      }
    }
  }
  return outcomes;
}

void check_nothing_measured_twice(const StudyView& view) {
  for (const auto& [experiment, attempts] : outcomes_of(view)) {
    const auto measured = std::count_if(attempts.begin(), attempts.end(), [](const auto& attempt) {
      return attempt.second == Outcome::ok;
    });
    CAPTURE(experiment.text);
    CHECK(measured <= 1);
  }
}

}  // namespace

TEST_CASE("retry: a study that ended because nothing started is opened again", "[tune]") {
  SimulatedStudy study;
  study.trial = no_library;
  REQUIRE(study.process({Role::submit, 0}));
  study.run();
  REQUIRE(study.state().finished);
  CHECK_FALSE(study.state().finished->best);
  const StudyView before = study.view();
  const StageName ended = before.plan.stages[0].name;
  const auto decision = read_file(study.directory().decision_path(ended));

  study.trial = SimulatedStudy::model_trial;
  const auto plan = study.retry(mendable_outcomes());
  REQUIRE(plan);
  REQUIRE(plan->reopening);
  CHECK_FALSE(plan->tries.empty());
  CHECK_FALSE(study.state().finished);
  REQUIRE(study.process({Role::resume, 0}));
  study.run();

  REQUIRE(study.state().finished);
  REQUIRE(study.result().best);
  // The stages that are left are fewer than those of a sound study.
  REQUIRE(study.result().baseline);
  CHECK(study.result().best->throughput.mid >= study.result().baseline->throughput.mid);
  check_nothing_measured_twice(study.view());
  // What was decided stands as it was written.
  CHECK(read_file(study.directory().decision_path(ended)) == decision);
}

TEST_CASE("retry: a grid of which nothing worked goes on with a later round", "[tune]") {
  SimulatedStudy study(SimulatedStudy::deepspeed_study() + "strategy = \"grid\"\n");
  study.trial = no_library;
  REQUIRE(study.process({Role::submit, 0}));
  study.run();
  REQUIRE(study.state().finished);
  REQUIRE_FALSE(study.state().finished->best);
  study.trial = SimulatedStudy::model_trial;
  const auto plan = study.retry(mendable_outcomes());
  INFO((plan ? "" : plan.error().message));
  REQUIRE(plan);
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  REQUIRE(study.state().finished);
  CHECK(study.state().finished->best);
  check_nothing_measured_twice(study.view());
}

TEST_CASE("retry: in a study that goes on the next reducer proposes them again", "[tune]") {
  SimulatedStudy study;
  study.trial = bad_program;
  REQUIRE(study.process({Role::submit, 0}));
  const auto failed = [&] {
    std::vector<RetriedTry> tries;
    for (const auto& [experiment, attempts] : outcomes_of(study.view())) {
      const auto& [attempt, outcome] = *attempts.rbegin();
      if (outcome == Outcome::config_error) tries.push_back({experiment, attempt});
    }
    return tries;
  };
  REQUIRE(study.cluster().run_until([&] { return !failed().empty(); }, std::chrono::hours(20)));
  const auto mended = failed();
  study.trial = SimulatedStudy::model_trial;
  const auto plan = study.retry({Outcome::config_error});
  REQUIRE(plan);
  CHECK(plan->tries == mended);
  CHECK_FALSE(plan->reopening);
  // Twice is once.
  const auto again = study.retry({Outcome::config_error});
  REQUIRE(again);
  CHECK(again->tries.empty());

  study.run();
  REQUIRE(study.state().finished);
  const auto outcomes = outcomes_of(study.view());
  for (const RetriedTry& tried : mended) {
    CAPTURE(tried.experiment.text);
    const auto& attempts = outcomes.at(tried.experiment);
    CHECK(attempts.at(tried.attempt) == Outcome::config_error);
    REQUIRE(attempts.contains(tried.attempt + 1));
    CHECK(attempts.at(tried.attempt + 1) != Outcome::config_error);
  }
  check_nothing_measured_twice(study.view());
}

TEST_CASE("retry: a finished study with no stage left says so, and changes nothing", "[tune]") {
  SimulatedStudy study;
  study.trial = bad_program;
  REQUIRE(study.process({Role::submit, 0}));
  study.run();
  REQUIRE(study.state().finished);
  REQUIRE(study.result().best);
  const auto events = study.state().last_event;
  const auto plan = study.retry({Outcome::config_error});
  REQUIRE_FALSE(plan);
  CHECK(plan.error().kind == ErrorKind::invalid_input);
  CHECK(plan.error().message.find("submit a new study") != std::string::npos);
  CHECK(study.state().last_event == events);
}

TEST_CASE("retry: a cancelled study is not opened again", "[tune]") {
  SimulatedStudy study;
  study.trial = no_library;
  REQUIRE(study.process({Role::submit, 0}));
  REQUIRE(study.process({Role::cancel, 0}));
  const auto plan = study.retry(mendable_outcomes());
  REQUIRE_FALSE(plan);
  CHECK(plan.error().message.starts_with("the study was cancelled"));
}
