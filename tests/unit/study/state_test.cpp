// SPDX-License-Identifier: MIT
#include "slurmtune/study/state.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/study/array_events.hpp"

using namespace slurmtune;
using namespace slurmtune::array_events;

namespace {

StudyCreated created_event() {
  StudyCreated created;
  created.study = study;
  return created;
}

std::vector<Event> numbered(const std::vector<EventBody>& bodies) {
  std::vector<Event> events;
  for (const EventBody& body : bodies) {
    events.push_back({static_cast<std::int64_t>(events.size()) + 1, noon, body});
  }
  return events;
}

}  // namespace

TEST_CASE("job_name: carries study, stage, kind and attempt", "[study]") {
  CHECK(job_name(study, profile, JobKind::array, 0) == "st-6b1f3c52-01-profile-a-0");
  CHECK(job_name(study, profile, JobKind::reducer, 2) == "st-6b1f3c52-01-profile-r-2");
  CHECK(job_name(study, {}, JobKind::guard, 0) == "st-6b1f3c52-guard-0");
}

TEST_CASE("fold: an intent is open until it is submitted or lost", "[study]") {
  const StudyCreated created = created_event();
  auto events = numbered({created, intended(0)});
  auto state = fold(events).value();
  REQUIRE(state.open_intent() != nullptr);
  CHECK(state.open_intent()->name == "st-6b1f3c52-01-profile-a-0");
  CHECK(state.jobs_of(profile, JobKind::array).empty());

  state = fold(numbered({created, intended(0), submitted(0, 9)})).value();
  CHECK(state.open_intent() == nullptr);
  REQUIRE(state.jobs_of(profile, JobKind::array).size() == 1);
  CHECK(state.jobs_of(profile, JobKind::array)[0]->job == 9);
  CHECK(state.next_attempt(profile, JobKind::array) == 1);

  state = fold(numbered({created, intended(0), SubmitLost{intended(0).name}})).value();
  CHECK(state.open_intent() == nullptr);
  CHECK(state.jobs_of(profile, JobKind::array).empty());
  CHECK(state.next_attempt(profile, JobKind::array) == 1);
}

TEST_CASE("fold: a job submitted by hand has no intent before it", "[study]") {
  const auto state = fold(numbered({created_event(), submitted(0, 12)})).value();
  REQUIRE(state.jobs_of(profile, JobKind::array).size() == 1);
  CHECK(state.open_intent() == nullptr);
  CHECK(state.last_event == 2);
}

TEST_CASE("fold: a job whose number was given to another one is lost", "[study]") {
  const auto state =
      fold(numbered({created_event(), intended(0), submitted(0, 12),
                     SlicesDropped{profile, 12, 2, 4}, intended(1), submitted(1, 12)}))
          .value();
  REQUIRE(state.jobs.size() == 2);
  CHECK(state.jobs[0].lost);
  CHECK(state.jobs[0].job == 12);  // it may have left shards
  CHECK_FALSE(state.jobs[1].lost);
  CHECK(state.dropped.empty());
  CHECK(state.open_intent() == nullptr);
}

TEST_CASE("fold: a journal that does not begin with study_created is corrupt", "[study]") {
  CHECK(fold({}).error().kind == ErrorKind::corrupt_data);
  CHECK(fold(numbered({PlanMade{"a"}})).error().kind == ErrorKind::corrupt_data);
}

TEST_CASE("fold: a training is known from its beginning, with its end once there is one",
          "[study]") {
  const Instant noon = parse_instant("2026-11-30T12:00:00Z").value();
  const Instant later = parse_instant("2026-11-30T13:00:00Z").value();
  std::vector<Event> events{{1, noon, StudyCreated{}}, {2, noon, TrainingStarted{20}}};
  const auto running = fold(events).value().training;
  REQUIRE(running);
  CHECK(*running == TrainingRecord{.job = 20, .started = noon, .ended = {}, .exit_code = 0});
  events.push_back({3, later, TrainingEnded{7}});
  CHECK(*fold(events).value().training ==
        TrainingRecord{.job = 20, .started = noon, .ended = later, .exit_code = 7});
}

TEST_CASE("fold: an extension counts from then on, and takes back an end for want of it",
          "[study]") {
  const auto event = [](std::int64_t number, EventBody body) {
    return Event{number, Instant(std::chrono::hours(number)), std::move(body)};
  };
  const Instant deadline(std::chrono::hours(50));
  std::vector<Event> events{event(1, StudyCreated{}),
                            event(2, Submitted{.name = "a",
                                               .stage = {"01-profile"},
                                               .kind = JobKind::array,
                                               .attempt = 0,
                                               .job = 7,
                                               .first_slice = 0,
                                               .tasks = 2}),
                            event(3, Extended{.max_node_hours = 5.0}),
                            event(4, Extended{.max_experiments = 9, .deadline = deadline}),
                            event(5, Decided{{"01-profile"}, "ab"}),
                            event(6, Finished{Stop::budget, std::nullopt})};
  StudyState state = fold(events).value();
  CHECK(state.extension.max_node_hours == 5.0);
  CHECK(state.extension.max_experiments == 9);
  CHECK(state.deadline == deadline);
  CHECK(state.deadline_since == Instant(std::chrono::hours(4)));
  CHECK(state.finished);
  CHECK(state.ends_taken_back == 0);

  events.push_back(event(7, Extended{.max_node_hours = 8.0}));
  state = fold(events).value();
  CHECK_FALSE(state.finished);
  CHECK(state.ends_taken_back == 1);
  CHECK_FALSE(state.decided.contains({"01-profile"}));
  CHECK(state.jobs.front().gone);
  CHECK(state.extension.max_node_hours == 8.0);

  // What ended for another reason stays so.
  events[5].body = Finished{Stop::gain, std::nullopt};
  CHECK(fold(events).value().finished);
}
