// SPDX-License-Identifier: MIT
//
// Whole studies, on a simulated cluster.

#include <algorithm>
#include <filesystem>

#include "slurmtune/study/files.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/tune/simulated_study.hpp"

using namespace slurmtune;

namespace {

/// The best of the model's surface by exhaustion: ZeRO stage and micro-batch.
std::pair<std::int64_t, std::int64_t> exhaustive_best() {
  std::pair<std::int64_t, std::int64_t> best;
  double best_throughput = 0.0;
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    for (std::int64_t micro = 1; micro <= 16; micro *= 2) {
      Experiment experiment;
      experiment.configuration.values = {
          {"zero_stage", stage}, {"micro_batch", micro}, {"gradient_accumulation", 16 / micro}};
      Verdict verdict;
      SimulatedStudy::model_trial(experiment, verdict);
      if (verdict.outcome != Outcome::ok || verdict.metrics.throughput->mid <= best_throughput) {
        continue;
      }
      best_throughput = verdict.metrics.throughput->mid;
      best = {stage, micro};
    }
  }
  return best;
}

void require_the_right_winner(SimulatedStudy& study) {
  const StudyState state = study.state();
  INFO(study.last_error());
  REQUIRE(state.finished);
  const TuningResult result = study.result();
  INFO(result.why);
  REQUIRE(result.best);
  const Configuration best{result.best->values};
  const auto expected = exhaustive_best();
  CHECK(best.integer("zero_stage") == expected.first);
  CHECK(best.integer("micro_batch") == expected.second);
  for (const auto& [experiment, runs] : study.runs()) {
    INFO(experiment.text);
    CHECK(runs == 1);  // no finished experiment is run twice
  }
}

}  // namespace

TEST_CASE("a study finds the winner, confirms it and leaves no job", "[tune]") {
  SimulatedStudy study;
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  require_the_right_winner(study);
  CHECK(study.cluster().is_idle());
  const TuningResult result = study.result();
  CHECK(result.best->repeats >= 3);
  CHECK(result.speedup);
  CHECK(result.speedup->mid > 1.0);
  CHECK(file_exists(study.directory().best() / "ds_config_optimal.json"));
  CHECK(file_exists(study.directory().best() / "train_optimal.sbatch"));
}

TEST_CASE("the whole graph is submitted at once, and a second submit changes nothing", "[tune]") {
  SimulatedStudy study;
  const auto first = study.process({Role::resume, 0});
  REQUIRE(first);
  const std::size_t stages = study.view().plan.stages.size();
  CHECK(study.cluster().submitted().size() == 2 * stages + 1);
  const auto second = study.process({Role::resume, 0});
  REQUIRE(second);
  CHECK(second->jobs == first->jobs);
  CHECK(study.cluster().submitted().size() == 2 * stages + 1);
}

TEST_CASE("of two that submit at once, none submits what the other has submitted", "[tune]") {
  SimulatedStudy study;
  // The other does all its work between our look at the queue and what we decide from it.
  study.before_deciding = [&] { REQUIRE(study.process({Role::resume, 0})); };
  REQUIRE(study.process({Role::resume, 0}));
  CHECK(study.cluster().submitted().size() == 2 * study.view().plan.stages.size() + 1);
}

TEST_CASE("a study whose processes are killed after any event ends with the same winner",
          "[tune]") {
  std::int64_t events = 0;
  {
    SimulatedStudy study;
    REQUIRE(study.process({Role::resume, 0}));
    study.run();
    events = study.state().last_event;
  }
  REQUIRE(events > 20);
  for (std::int64_t n = 3; n <= events; ++n) {
    CAPTURE(n);
    SimulatedStudy study;
    study.die_after_event = n;
    (void)study.process({Role::resume, 0});
    study.run();
    // Whoever died is dead; somebody looks in the morning and goes on.
    study.die_after_event = 0;
    for (int i = 0; i < 4 && !study.state().finished; ++i) {
      (void)study.process({Role::resume, 0});
      study.run();
    }
    require_the_right_winner(study);
    CHECK(study.cluster().is_idle());
  }
}

TEST_CASE("a study of which the batch system refuses a part is taken back whole", "[tune]") {
  SimulatedStudy study(SimulatedStudy::deepspeed_study() +
                       "[slurm]\nreducer_partition = \"nowhere\"\n");
  const auto submitted = study.process({Role::resume, 0});
  REQUIRE_FALSE(submitted);
  CHECK(submitted.error().kind == ErrorKind::invalid_input);
  const StudyState state = study.state();
  REQUIRE(std::count_if(state.jobs.begin(), state.jobs.end(),
                        [](const JobRecord& job) { return job.job.has_value(); }) == 1);
  REQUIRE(study.withdraw());
  CHECK_FALSE(std::filesystem::exists(study.directory().root()));
  std::vector<JobId> jobs;
  for (const JobRecord& job : state.jobs) {
    if (job.job) jobs.push_back({*job.job});
  }
  const auto reports = study.cluster().report(jobs);
  REQUIRE(reports);
  for (const JobReport& report : *reports) CHECK(is_over(report.state));
}

TEST_CASE("a dead reducer is replaced by the next array, without resume", "[tune]") {
  for (const char* dead : {"01-profile-r", "02-frontier-r"}) {
    CAPTURE(dead);
    SimulatedStudy study;
    study.dead_jobs = {dead};
    REQUIRE(study.process({Role::resume, 0}));
    study.run();
    require_the_right_winner(study);
  }
}

TEST_CASE("if all reducers die, final concludes what it can, and resume the rest", "[tune]") {
  SimulatedStudy study;
  for (const PlannedStage& stage : study.view().plan.stages) {
    study.dead_jobs.insert(stage.name.text + "-r");
  }
  study.dead_jobs.insert("final");
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  study.dead_jobs.clear();
  for (int i = 0; i < 4 && !study.state().finished; ++i) {
    REQUIRE(study.process({Role::resume, 0}));
    study.run();
  }
  require_the_right_winner(study);
}

TEST_CASE("a lost array is run again by resume", "[tune]") {
  SimulatedStudy study;
  REQUIRE(study.process({Role::submit, 0}));
  // Somebody cancels everything before anything ran.
  for (const JobId job : study.cluster().submitted()) REQUIRE(study.cluster().cancel(job));
  study.run();
  CHECK_FALSE(study.state().finished);
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  require_the_right_winner(study);
}

TEST_CASE("an answer that was lost is found by name, and nothing is submitted twice", "[tune]") {
  SimulatedStudy study;
  study.cluster().lose_next_answer();
  (void)study.process({Role::resume, 0});
  REQUIRE(study.process({Role::resume, 0}));
  const std::size_t stages = study.view().plan.stages.size();
  CHECK(study.cluster().submitted().size() == 2 * stages + 1);
  study.run();
  require_the_right_winner(study);
}

TEST_CASE("crashes and hangs are tried once more, and the winner is right", "[tune]") {
  SimulatedStudy study;
  std::map<std::string, int> tries;
  study.trial = [&](const Experiment& experiment, Verdict& verdict) {
    // Every second configuration crashes at its first try.
    const bool unlucky = experiment.configuration_id.text[0] % 2 == 0;
    if (unlucky && tries[experiment.id.text]++ == 0) {
      verdict.outcome = Outcome::hang;
      verdict.reason = "no step in 30 s";
      return;
    }
    SimulatedStudy::model_trial(experiment, verdict);
  };
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  const TuningResult result = study.result();
  REQUIRE(result.best);
  CHECK(Configuration{result.best->values}.integer("micro_batch") == exhaustive_best().second);
}

TEST_CASE("what a cancelled task of the grid should have measured is measured again", "[tune]") {
  SimulatedStudy study(SimulatedStudy::deepspeed_study() + "strategy = \"grid\"\n");
  const auto expected = exhaustive_best();
  int lost = 0;
  study.trial = [&](const Experiment& experiment, Verdict& verdict) {
    const auto& configuration = experiment.configuration;
    const bool is_best = configuration.integer("zero_stage") == expected.first &&
                         configuration.integer("micro_batch") == expected.second;
    const bool is_baseline = experiment.purpose == Purpose::baseline;
    if ((is_best || is_baseline) && experiment.attempt == 0 && experiment.repeat == 0) {
      ++lost;
      verdict.outcome = Outcome::cancelled;
      return;
    }
    SimulatedStudy::model_trial(experiment, verdict);
  };
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  CHECK(lost == 2);
  require_the_right_winner(study);
  CHECK(study.result().baseline);
  CHECK(study.result().best->repeats >= 3);
}

TEST_CASE("F-01: when nothing works there is a result that says why, and no best", "[tune]") {
  SimulatedStudy study;
  study.trial = [](const Experiment&, Verdict& verdict) {
    verdict.outcome = Outcome::crashed;
    verdict.reason = "exit 1";
    verdict.evidence = Evidence{.rank = 1,
                                .node = "n1",
                                .exit_code = 1,
                                .signal = std::nullopt,
                                .log = "logs/x",
                                .line = "ValueError: the tokenizer is missing"};
  };
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  REQUIRE(study.state().finished);
  CHECK_FALSE(study.state().finished->best);
  const TuningResult result = study.result();
  CHECK_FALSE(result.best);
  CHECK(result.why.find("the tokenizer is missing") != std::string::npos);
  CHECK_FALSE(file_exists(study.directory().best() / "ds_config_optimal.json"));
  CHECK(study.cluster().is_idle());
}

TEST_CASE("cancel ends a study with what was measured", "[tune]") {
  SimulatedStudy study;
  REQUIRE(study.process({Role::resume, 0}));
  REQUIRE(study.cluster().run_until([&] { return !study.state().decided.empty(); },
                                    std::chrono::hours(10)));
  REQUIRE(study.process({Role::cancel, 0}));
  study.run();
  CHECK(study.cluster().is_idle());
  REQUIRE(study.state().finished);
  CHECK(study.state().finished->stop == Stop::cancelled);
  CHECK(study.result().best);
}

TEST_CASE("equal verdicts make equal decisions, byte for byte", "[tune]") {
  const auto decisions = [] {
    SimulatedStudy study;
    REQUIRE(study.process({Role::resume, 0}));
    study.run();
    std::map<std::string, std::string> texts;
    for (const PlannedStage& stage : study.view().plan.stages) {
      const auto path = study.directory().decision_path(stage.name);
      if (!file_exists(path)) continue;
      std::string text = read_file(path).value();
      // The study's own id is the only thing that may differ, and with it the hashes over it.
      const std::string id = study.state().created.study.text;
      for (std::size_t at = text.find(id); at != std::string::npos; at = text.find(id)) {
        text.replace(at, id.size(), "STUDY");
      }
      const std::size_t hash = text.find("\"manifest_sha256\":\"");
      if (hash != std::string::npos) text.erase(hash, 84);
      texts[stage.name.text] = text;
    }
    return texts;
  };
  const auto first = decisions();
  REQUIRE(first.size() >= 3);
  CHECK(first == decisions());
}
