// SPDX-License-Identifier: MIT
//
// The same study, submitted in every way and within every limit, comes to the same winner.

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "slurmtune/tune/write_scripts.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/tune/simulated_study.hpp"

using namespace slurmtune;

namespace {

/// What a site may be like, as [slurm] of the study and as the cluster that holds to it.
struct Limits {
  std::int64_t array_size_max = 1001;
  std::int64_t submit_jobs_max = 1000;
  std::int64_t walltime_max_s = 86'400;
  bool jobs_can_submit = true;

  [[nodiscard]] std::string study() const {
    return SimulatedStudy::deepspeed_study() +
           fmt::format(
               "[slurm]\narray_size_max = {}\nsubmit_jobs_max = {}\nwalltime_max_s = {}\n"
               "jobs_can_submit = {}\nmin_task_minutes = 1\n",
               array_size_max, submit_jobs_max, walltime_max_s, jobs_can_submit);
  }
  [[nodiscard]] FakeClusterOptions cluster() const {
    FakeClusterOptions options;
    options.array_size_max = array_size_max;
    options.submit_jobs_max = submit_jobs_max;
    return options;
  }
};

std::string winner(SimulatedStudy& study) {
  INFO(study.last_error());
  REQUIRE(study.state().finished);
  const TuningResult result = study.result();
  INFO(result.why);
  REQUIRE(result.best);
  for (const auto& [experiment, runs] : study.runs()) {
    INFO(experiment.text);
    CHECK(runs == 1);
  }
  CHECK(study.cluster().is_idle());
  return result.best->configuration.text;
}

std::string winner_of(SubmitMode mode, const Limits& limits) {
  SimulatedStudy study(limits.study(), mode, limits.cluster());
  const auto submitted = study.submit();
  INFO((submitted ? "" : submitted.error().message));
  REQUIRE(submitted);
  study.run();
  return winner(study);
}

std::int64_t widest_array(SimulatedStudy& study) {
  std::int64_t widest = 0;
  for (const JobId job : study.cluster().submitted()) {
    widest = std::max(widest, study.cluster().request_of(job).array_tasks.value_or(0));
  }
  return widest;
}

std::int64_t count_of(const SimulatedStudy& study, JobKind kind) {
  const StudyState state = study.state();
  return std::count_if(state.jobs.begin(), state.jobs.end(),
                       [&](const JobRecord& job) { return job.kind == kind && job.job; });
}

}  // namespace

TEST_CASE("every way to submit comes to the same winner, within every limit", "[tune]") {
  const std::string expected = winner_of(SubmitMode::graph, {});
  CHECK(winner_of(SubmitMode::step, {}) == expected);
  CHECK(winner_of(SubmitMode::one_job, {}) == expected);
  CHECK(winner_of(SubmitMode::graph, {.array_size_max = 4}) == expected);
  CHECK(winner_of(SubmitMode::graph, {.array_size_max = 1}) == expected);
  CHECK(winner_of(SubmitMode::step, {.array_size_max = 2}) == expected);
  CHECK(winner_of(SubmitMode::automatic, {.submit_jobs_max = 20}) == expected);
  CHECK(winner_of(SubmitMode::step, {.submit_jobs_max = 8}) == expected);
  CHECK(winner_of(SubmitMode::automatic, {.submit_jobs_max = 8}) == expected);
  CHECK(winner_of(SubmitMode::automatic, {.submit_jobs_max = 2, .walltime_max_s = 1800}) ==
        expected);
}

TEST_CASE("a stage that is wider than an array runs in several, all of its slices", "[tune]") {
  const Limits limits{.array_size_max = 2};
  SimulatedStudy study(limits.study(), SubmitMode::graph, limits.cluster());
  REQUIRE(study.submit());
  CHECK(widest_array(study) == 2);
  CHECK(count_of(study, JobKind::array) >
        static_cast<std::int64_t>(study.view().plan.stages.size()));
  study.run();
  (void)winner(study);
}

TEST_CASE("by steps there is never more in the queue than one stage", "[tune]") {
  SimulatedStudy study(SimulatedStudy::deepspeed_study(), SubmitMode::step);
  REQUIRE(study.submit());
  CHECK(study.cluster().submitted().size() == 3);
  REQUIRE(study.submit());
  CHECK(study.cluster().submitted().size() == 3);
  study.run();
  (void)winner(study);
  CHECK(count_of(study, JobKind::final) == 0);
}

TEST_CASE("steps go on by themselves where a reducer dies, or its stand-in", "[tune]") {
  // Every first reducer of a stage dies without a word.
  SimulatedStudy study(SimulatedStudy::deepspeed_study(), SubmitMode::step);
  int deaths = 0;
  study.dies = [&](const std::string& job) {
    const bool dead = job.ends_with("-r-0");
    deaths += dead ? 1 : 0;
    return dead;
  };
  REQUIRE(study.submit());
  study.run();
  (void)winner(study);
  CHECK(deaths >= 3);
}

TEST_CASE("steps whose processes die after any event end with the same winner, unwatched",
          "[tune]") {
  std::int64_t events = 0;
  std::string expected;
  {
    SimulatedStudy study(SimulatedStudy::deepspeed_study(), SubmitMode::step);
    REQUIRE(study.submit());
    study.run();
    events = study.state().last_event;
    expected = winner(study);
  }
  for (std::int64_t n = 3; n <= events; ++n) {
    CAPTURE(n);
    SimulatedStudy study(SimulatedStudy::deepspeed_study(), SubmitMode::step);
    study.die_after_event = n;
    const bool submitted = study.submit().has_value();
    study.die_after_event = submitted ? n : 0;
    if (!submitted) REQUIRE(study.submit());  // the user saw that, and said it again
    study.run();
    CHECK(winner(study) == expected);
  }
}

TEST_CASE("a task that dies is run again by steps, in the same stage", "[tune]") {
  SimulatedStudy study(SimulatedStudy::deepspeed_study(), SubmitMode::step);
  study.dies = [](const std::string& job) { return job.ends_with("01-profile-a-0"); };
  REQUIRE(study.submit());
  study.run();
  (void)winner(study);
  CHECK(study.state().jobs_of({"01-profile"}, JobKind::array).size() == 2);
}

TEST_CASE("a debug queue of two jobs and half an hour finishes a study unwatched", "[tune]") {
  const Limits limits{.submit_jobs_max = 2, .walltime_max_s = 1800};
  SimulatedStudy study(limits.study(), SubmitMode::automatic, limits.cluster());
  CHECK(study.state().created.submit == "one-job");
  REQUIRE(study.submit());
  CHECK(study.cluster().submitted().size() == 1);
  study.run();
  (void)winner(study);
  CHECK(count_of(study, JobKind::whole) >= 2);
}

TEST_CASE("where jobs cannot submit jobs, a chain of jobs is submitted at once", "[tune]") {
  const Limits limits{.submit_jobs_max = 5, .walltime_max_s = 1800, .jobs_can_submit = false};
  SimulatedStudy study(limits.study(), SubmitMode::automatic, limits.cluster());
  CHECK(study.state().created.submit == "one-job");
  REQUIRE(study.submit());
  CHECK(study.cluster().submitted().size() == 5);
  REQUIRE(study.submit());
  CHECK(study.cluster().submitted().size() == 5);
  study.run();
  (void)winner(study);
}

TEST_CASE("a graph in parts whose processes die after any event is completed, never doubled",
          "[tune]") {
  const Limits limits{.array_size_max = 2};
  std::int64_t events = 0;
  std::string expected;
  {
    SimulatedStudy study(limits.study(), SubmitMode::graph, limits.cluster());
    REQUIRE(study.submit());
    study.run();
    events = study.state().last_event;
    expected = winner(study);
  }
  for (std::int64_t n = 3; n <= events; n += 4) {
    CAPTURE(n);
    SimulatedStudy study(limits.study(), SubmitMode::graph, limits.cluster());
    study.die_after_event = n;
    (void)study.submit();
    study.die_after_event = 0;
    REQUIRE(study.submit());
    // No slice is asked for twice.
    const StudyState state = study.state();
    std::set<std::pair<StageName, std::int64_t>> slices;
    for (const JobRecord& job : state.jobs) {
      for (std::int64_t i = 0; job.job && i < job.tasks.value_or(0); ++i) {
        CHECK(slices.insert({job.stage, job.first_slice + i}).second);
      }
    }
    if (n % 8 != 3) continue;
    study.die_after_event = state.last_event + 2;
    study.run();
    study.die_after_event = 0;
    for (int i = 0; i < 4 && !study.state().finished; ++i) {
      REQUIRE(study.submit());
      study.run();
    }
    CHECK(winner(study) == expected);
  }
}

TEST_CASE("scripts to submit by hand name all parts of a stage", "[tune]") {
  const Limits limits{.array_size_max = 2};
  SimulatedStudy study(limits.study(), SubmitMode::scripts);
  const auto lines = write_scripts(study.directory());
  REQUIRE(lines);
  const std::string text = fmt::format("{}", fmt::join(*lines, "\n"));
  using Catch::Matchers::Contains;
  CHECK_THAT(text, Contains("a1=$(sbatch --parsable --array=0-1 ") &&
                       Contains("a1_2=$(sbatch --parsable --array=0-1 ") &&
                       Contains("/stages/01-profile/array.2.sbatch)") &&
                       Contains("r1=$(sbatch --parsable --dependency=afterany:$a1:$a1_2") &&
                       Contains("a2=$(sbatch --parsable --array=0-1 --dependency=afterany:$r1 "));
}
