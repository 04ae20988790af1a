// SPDX-License-Identifier: MIT
#include "slurmtune/model/history.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

Verdict tried(Experiment experiment, int attempt, Outcome outcome) {
  experiment.attempt = attempt;
  return failed(experiment, outcome);
}

const Trial& only(const History& history) {
  REQUIRE(history.trials().size() == 1);
  return history.trials().front();
}

History fold(const Experiment& experiment, const std::vector<Verdict>& verdicts) {
  History history;
  history.add(manifest_of("01-profile", {experiment}), verdicts);
  return history;
}

}  // namespace

TEST_CASE("history: an experiment without a verdict is not started, and tried again", "[model]") {
  const History history = fold(experiment_of(zero(0, 1)), {});
  CHECK(only(history).outcome() == Outcome::not_started);
  CHECK(only(history).wants_another_try());
  CHECK_FALSE(only(history).worked());
  CHECK(history.tries_started() == 0);
}

TEST_CASE("history: a measurement is never lost to a later interruption", "[model]") {
  const Experiment experiment = experiment_of(zero(0, 1));
  const Verdict measured = ok(experiment, 10.0);
  const Verdict later = tried(experiment, 1, Outcome::preempted);
  const History history = fold(experiment, {measured, later});
  CHECK(only(history).worked());
  CHECK_FALSE(only(history).wants_another_try());
  CHECK(history.tries_started() == 2);
}

TEST_CASE("history: interruptions do not count against an experiment", "[model]") {
  const Experiment experiment = experiment_of(zero(0, 1));
  const History history = fold(experiment, {tried(experiment, 0, Outcome::preempted),
                                            tried(experiment, 1, Outcome::node_failure),
                                            tried(experiment, 2, Outcome::crashed)});
  CHECK(only(history).outcome() == Outcome::crashed);
  CHECK(only(history).tries == 1);
  CHECK(only(history).last_attempt == 2);
  CHECK(only(history).wants_another_try());
}

TEST_CASE("history: a crash is tried once more, and then believed", "[model]") {
  Experiment experiment = experiment_of(zero(0, 1));
  History history = fold(experiment, {tried(experiment, 0, Outcome::crashed)});
  experiment.attempt = 1;
  history.add(manifest_of("02-frontier", {experiment}),
              std::vector{tried(experiment, 1, Outcome::crashed)});
  CHECK(only(history).tries == 2);
  CHECK_FALSE(only(history).wants_another_try());
}

TEST_CASE("history: a launch error counts as a configuration error after its third try",
          "[model]") {
  const Experiment experiment = experiment_of(zero(0, 1));
  std::vector<Verdict> verdicts;
  for (int attempt = 0; attempt < 3; ++attempt) {
    CHECK(fold(experiment, verdicts).trials().front().outcome() != Outcome::config_error);
    verdicts.push_back(tried(experiment, attempt, Outcome::launch_error));
  }
  CHECK(only(fold(experiment, verdicts)).outcome() == Outcome::config_error);
}

TEST_CASE("history: what a decision dropped is not tried again", "[model]") {
  const Experiment experiment = experiment_of(zero(0, 1));
  Verdict dropped = failed(experiment, Outcome::not_started);
  dropped.reason = "dropped";
  CHECK_FALSE(only(fold(experiment, {dropped})).wants_another_try());
  dropped.reason = "no_time";
  CHECK(only(fold(experiment, {dropped})).wants_another_try());
}

TEST_CASE("history: the order of verdicts has no influence, nor have two of one attempt",
          "[model]") {
  const Experiment experiment = experiment_of(zero(0, 1));
  std::vector<Verdict> verdicts{tried(experiment, 0, Outcome::crashed),
                                tried(experiment, 1, Outcome::preempted), ok(experiment, 11.0),
                                ok(experiment, 10.0)};
  verdicts[2].metrics.step_s = about(0.10);
  verdicts[3].metrics.step_s = about(0.11);
  std::sort(verdicts.begin(), verdicts.end(), [](const Verdict& a, const Verdict& b) {
    return a.reason + std::to_string(a.attempt) < b.reason + std::to_string(b.attempt);
  });
  for (int turn = 0; turn < 4; ++turn) {
    std::rotate(verdicts.begin(), verdicts.begin() + 1, verdicts.end());
    const History history = fold(experiment, verdicts);
    CHECK(only(history).verdict->metrics.step_s->mid == 0.11);  // the slower of the two is believed
    CHECK(only(history).tries == 1);
  }
}

TEST_CASE("history: a configuration is found by any of its experiments, the working one first",
          "[model]") {
  const Experiment first = experiment_of(zero(0, 1));
  const Experiment repeat = experiment_of(zero(0, 1), Purpose::confirm, 1);
  History history;
  history.add(manifest_of("01-profile", {first}), std::vector{failed(first, Outcome::crashed)});
  history.add(manifest_of("05-confirm", {repeat}), std::vector{ok(repeat, 5.0)});
  REQUIRE(history.of(first.configuration_id));
  CHECK(history.of(first.configuration_id)->experiment.id == repeat.id);
  CHECK(history.has_asked(first.configuration_id));
  CHECK(history.of({"unknown"}) == nullptr);
  CHECK(history.find(first.id)->asked_by == Purpose::profile);
}

TEST_CASE("history: a verdict of an experiment that nobody asked for is ignored", "[model]") {
  History history;
  history.add(manifest_of("01-profile", {experiment_of(zero(0, 1))}),
              std::vector{ok(experiment_of(zero(0, 2)), 5.0)});
  CHECK(only(history).outcome() == Outcome::not_started);
}

TEST_CASE("history: that a task was lost is believed only where nothing else is known", "[model]") {
  const Experiment experiment = experiment_of(zero(1, 4));
  Verdict lost = failed(experiment, Outcome::not_started, "task 0: the runner died");
  lost.reason = lost_task;
  lost.attempt = 1;
  const Verdict crash = failed(experiment, Outcome::crashed, "segmentation fault");
  History both;
  both.add(manifest_of("01-profile", {experiment}), std::vector{lost, crash});
  CHECK(both.trials()[0].outcome() == Outcome::crashed);
  CHECK(both.trials()[0].wants_another_try());
  History alone;
  alone.add(manifest_of("01-profile", {experiment}), std::vector{lost});
  CHECK(alone.trials()[0].outcome() == Outcome::not_started);
  CHECK(alone.trials()[0].wants_another_try());
  CHECK(alone.tries_started() == 0);
}

TEST_CASE("history: what is lost again and again is given up", "[model]") {
  const auto [outcome, bound] =
      GENERATE(std::pair(Outcome::node_failure, 3), std::pair(Outcome::cancelled, 2),
               std::pair(Outcome::preempted, 10));
  CHECK(losses_max(outcome) == bound);
  const Experiment experiment = experiment_of(zero(1, 4));
  std::vector<Verdict> verdicts;
  for (int attempt = 0; attempt < bound; ++attempt) {
    CHECK_FALSE(only(fold(experiment, verdicts)).is_given_up());
    CHECK(only(fold(experiment, verdicts)).wants_another_try());
    verdicts.push_back(tried(experiment, attempt, outcome));
  }
  CHECK(only(fold(experiment, verdicts)).is_given_up());
  CHECK_FALSE(only(fold(experiment, verdicts)).wants_another_try());
  // Another kind of end than the last is another story.
  verdicts.push_back(tried(experiment, bound, Outcome::crashed));
  CHECK(only(fold(experiment, verdicts)).wants_another_try());
}

TEST_CASE("history: no time left is no loss, a task without a word is one", "[model]") {
  const Experiment experiment = experiment_of(zero(1, 4));
  std::vector<Verdict> verdicts;
  for (int attempt = 0; attempt < 20; ++attempt) {
    verdicts.push_back(tried(experiment, attempt, Outcome::not_started));
    verdicts.back().reason = "no_time";
  }
  CHECK(only(fold(experiment, verdicts)).wants_another_try());
  for (int i = 17; i < 20; ++i) verdicts[static_cast<std::size_t>(i)].reason = lost_task;
  verdicts.erase(verdicts.begin(), verdicts.begin() + 17);
  CHECK(only(fold(experiment, verdicts)).is_given_up());
}

TEST_CASE("history: what was lost for good is given up at once", "[model]") {
  const Experiment experiment = experiment_of(zero(1, 4));
  Verdict verdict = tried(experiment, 0, Outcome::not_started);
  for (const std::string_view reason : {lost_for_good, cancelled_by_owner}) {
    verdict.reason = reason;
    CHECK(only(fold(experiment, {verdict})).is_given_up());
    CHECK_FALSE(only(fold(experiment, {verdict})).wants_another_try());
  }
}
