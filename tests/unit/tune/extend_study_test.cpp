// SPDX-License-Identifier: MIT
#include "slurmtune/tune/extend_study.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/tune/simulated_study.hpp"

using namespace slurmtune;

namespace {

std::string study_with(const std::string& budget) {
  return SimulatedStudy::deepspeed_study() + "[budget]\n" + budget;
}

Expected<ExtendedStudy> extend(SimulatedStudy& study, const Extension& wanted) {
  return study.with_autotuner(
      [&](Autotuner& tuner, const World& world) { return extend_study(tuner, wanted, world); });
}

std::int64_t budget_of_last_decision(SimulatedStudy& study) {
  const StudyView view = study.view();
  std::int64_t budget = 0;
  for (const StageView& stage : view.stages) {
    if (stage.decision) budget = stage.decision->budget_node_seconds.value_or(0);
  }
  return budget;
}

std::size_t jobs_of_kind(const StudyState& state, JobKind kind) {
  return static_cast<std::size_t>(
      std::count_if(state.jobs.begin(), state.jobs.end(),
                    [&](const JobRecord& job) { return job.kind == kind; }));
}

}  // namespace

TEST_CASE("A larger budget counts from the next decision on, without another submission",
          "[tune]") {
  SimulatedStudy study(study_with("max_node_hours = 3\n"));
  REQUIRE(study.process({Role::submit, 0}));
  const std::size_t jobs = study.state().jobs.size();
  REQUIRE(study.cluster().run_until([&] { return !study.state().decided.empty(); },
                                    std::chrono::hours(2)));
  const auto extended = extend(study, {.max_node_hours = 9.0});
  REQUIRE(extended);
  CHECK(extended->budget_node_seconds == 9 * 3600);
  CHECK(extended->goes_on_with.empty());
  study.run();
  const StudyState state = study.state();
  REQUIRE(state.finished);
  CHECK(state.jobs.size() == jobs);
  CHECK(budget_of_last_decision(study) == 9 * 3600);
}

TEST_CASE("A study that ended for want of budget goes on with more of it", "[tune]") {
  SimulatedStudy study(study_with("max_experiments = 30\n"));
  REQUIRE(study.process({Role::submit, 0}));
  REQUIRE(study.cluster().run_until([&] { return !study.state().decided.empty(); },
                                    std::chrono::hours(2)));
  // Less is allowed as long as it is not less than was released: here the study comes to its end.
  std::int64_t released = 0;
  const StudyView view = study.view();
  for (const StageView& stage : view.stages) {
    released += stage.manifest ? std::ssize(stage.manifest->experiments) : 0;
  }
  REQUIRE_FALSE(extend(study, {.max_experiments = released - 1}));
  REQUIRE(extend(study, {.max_experiments = released}));
  study.run();
  REQUIRE(study.state().finished);
  REQUIRE(study.state().finished->stop == Stop::budget);
  const std::size_t before = study.runs().size();

  const auto extended = extend(study, {.max_experiments = 60});
  REQUIRE(extended);
  CHECK_FALSE(extended->goes_on_with.empty());
  CHECK_FALSE(study.state().finished);
  CHECK(study.state().ends_taken_back == 1);
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  const StudyState state = study.state();
  INFO(study.last_error());
  REQUIRE(state.finished);
  CHECK(state.finished->stop != Stop::budget);
  CHECK(state.finished->best);
  CHECK(study.runs().size() > before);
  for (const auto& [experiment, times] : study.runs()) CHECK(times == 1);
}

TEST_CASE("Another deadline has another guard, and the old one leaves the study alone", "[tune]") {
  SimulatedStudy study(study_with("finish_by = \"2026-12-01T04:00:00Z\"\n"));
  REQUIRE(study.process({Role::submit, 0}));
  CHECK(jobs_of_kind(study.state(), JobKind::guard) == 1);
  study.clock().advance(std::chrono::minutes(1));
  const auto extended = extend(study, {.finish_by = "2026-12-01T09:00:00Z"});
  REQUIRE(extended);
  const StudyState state = study.state();
  CHECK(jobs_of_kind(state, JobKind::guard) == 2);
  CHECK(format_instant(*state.deadline) == "2026-12-01T09:00:00.000Z");
  // The old guard, had it not been cancelled.
  study.clock().advance_to(parse_instant("2026-12-01T03:46:00Z").value());
  REQUIRE(study.process({Role::guard, 0}));
  CHECK_FALSE(study.state().finished);
}

TEST_CASE("What cannot be extended is refused, with the reason", "[tune]") {
  SimulatedStudy study(study_with("max_node_hours = 3\n"));
  REQUIRE(study.process({Role::submit, 0}));
  CHECK_THAT(extend(study, {}).error().message, Catch::Contains("nothing to extend"));
  CHECK_THAT(extend(study, {.max_node_hours = -1.0}).error().message,
             Catch::Contains("--max-node-hours -1: write a number above 0"));
  CHECK_THAT(extend(study, {.max_node_hours = 1e13}).error().message, Catch::Contains("1e+09"));
  // The first array waits with all of its experiments, and nobody would tell its tasks.
  CHECK_THAT(extend(study, {.max_experiments = 1}).error().message,
             Catch::Contains("more are released to tasks"));
  CHECK_THAT(extend(study, {.max_node_hours = 0.01}).error().message,
             Catch::Contains("more released to tasks"));
  CHECK_THAT(extend(study, {.finish_by = "2026-11-30T19:00:00Z"}).error().message,
             Catch::Contains("is past"));
  study.run();
  REQUIRE(study.state().finished);
  const auto spent = extend(study, {.max_node_hours = 1e-4});
  CHECK_FALSE(spent);
  const auto done = extend(study, {.max_node_hours = 20.0});
  REQUIRE_FALSE(done);
  CHECK_THAT(done.error().message, Catch::Contains("not for want of budget or time"));
  CHECK(done.error().kind == ErrorKind::invalid_input);
}
