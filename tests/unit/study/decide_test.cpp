// SPDX-License-Identifier: MIT
#include "slurmtune/study/decide.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/study/next_action.hpp"
#include "tests/unit/study/view_builder.hpp"

using namespace slurmtune;

namespace {

using Life = ViewBuilder::Life;
/// Submits whatever is asked for, as a batch system that never refuses would; returns the order.
std::vector<std::string> submit_all(ViewBuilder& study, Role role) {
  std::vector<std::string> order;
  for (std::int64_t number = 100; number < 200; ++number) {
    const auto action = next(study.view, role);
    if (!action) return order;
    const auto& submit = std::get<SubmitJob>(*action);
    std::string line = job_name(study.view.plan.study, submit.stage, submit.kind, submit.attempt);
    for (const std::int64_t after : submit.after_any) line += fmt::format(" after {}", after);
    order.push_back(line.substr(12));
    study.job(submit.stage, submit.kind, number, Life::live, submit.tasks.value_or(1));
    study.view.state.jobs.back().first_slice = submit.first_slice;
  }
  FAIL("submits without end");
  return order;
}

}  // namespace

TEST_CASE("decide: submit sends the whole graph, each job after the one before it", "[study]") {
  ViewBuilder study(2);
  study.manifest(0, 4, 1);
  CHECK(submit_all(study, Role::submit) ==
        std::vector<std::string>{"01-stage-a-0", "01-stage-r-0 after 100", "02-stage-a-0 after 101",
                                 "02-stage-r-0 after 102", "final-0 after 103"});
}

TEST_CASE("decide: with a deadline the guard goes first and waits for nothing", "[study]") {
  ViewBuilder study(1);
  study.manifest(0, 4, 1);
  study.view.state.deadline = noon + std::chrono::hours(10);
  const auto order = submit_all(study, Role::submit);
  REQUIRE(order.size() == 4);
  CHECK(order[0] == "guard-0");
}

TEST_CASE("decide: a graph that is all there is not submitted again", "[study]") {
  ViewBuilder study(2);
  study.manifest(0, 4, 1);
  submit_all(study, Role::submit);
  CHECK_FALSE(next(study.view, Role::submit));
  CHECK_FALSE(next(study.view, Role::resume));
}

TEST_CASE("decide: an open intent of a living process is left to it, by name", "[study]") {
  ViewBuilder study(1);
  study.manifest(0, 1, 1);
  study.view.state.jobs.push_back({.name = "st-6b1f3c52-01-stage-a-0",
                                   .stage = study.name(0),
                                   .kind = JobKind::array,
                                   .attempt = 0,
                                   .first_slice = 0,
                                   .tasks = 1,
                                   .job = std::nullopt,
                                   .lost = false,
                                   .by = "login1:77",
                                   .intended_at = noon - std::chrono::seconds(30)});
  const auto busy = decide(study.view, {Role::resume, 0}, noon);
  REQUIRE_FALSE(busy);
  CHECK(busy.error().kind == ErrorKind::unavailable);
  CHECK(busy.error().message.find("login1:77") != std::string::npos);

  SECTION("after two minutes it is looked up") {
    const auto action = decide(study.view, {Role::resume, 0}, noon + std::chrono::seconds(91));
    CHECK(std::get<LookUpJob>(**action).name == "st-6b1f3c52-01-stage-a-0");
  }
  SECTION("at once if its process is gone") {
    study.view.submitter_is_dead = true;
    CHECK(std::holds_alternative<LookUpJob>(*next(study.view, Role::resume)));
  }
}

TEST_CASE("decide: a reducer waits for tasks that live, and for shards that may be on their way",
          "[study]") {
  ViewBuilder study(2);
  study.manifest(0, 2, 1);
  study.job(study.name(0), JobKind::array, 7, Life::live, 2);
  study.shard(0, 0, 1, ViewBuilder::End::done);
  const auto early = decide(study.view, {Role::reduce, 0}, noon);
  REQUIRE_FALSE(early);
  CHECK(early.error().kind == ErrorKind::unavailable);

  study.view.live_jobs->clear();
  CHECK(std::holds_alternative<AwaitShards>(*next(study.view, Role::reduce)));
  study.view.settled = true;
  CHECK(std::get<ReduceStage>(*next(study.view, Role::reduce)).stage == 0);
}

TEST_CASE("decide: a reducer whose queue is silent concludes only what has ended", "[study]") {
  ViewBuilder study(1);
  study.manifest(0, 1, 1);
  study.view.live_jobs.reset();
  CHECK(decide(study.view, {Role::reduce, 0}, noon).error().kind == ErrorKind::unavailable);
  study.run(0);
  CHECK(std::holds_alternative<ReduceStage>(*next(study.view, Role::reduce)));
}

TEST_CASE("decide: what a decision entails is completed in order, by any role", "[study]") {
  ViewBuilder study(3);
  study.manifest(0, 1, 1);
  study.run(0);
  study.job(study.name(0), JobKind::array, 10, Life::over);
  study.job(study.name(0), JobKind::reducer, 11, Life::live);
  study.job(study.name(1), JobKind::array, 12, Life::live);
  study.job(study.name(1), JobKind::reducer, 13, Life::live);
  study.job(study.name(2), JobKind::array, 14, Life::live);
  study.view.own_job = 11;
  study.decide(0, NextAction::skip_to, 2);
  study.view.state.decided.clear();

  for (const Role role : {Role::reduce, Role::finish, Role::submit, Role::resume}) {
    CHECK(std::get<RecordDecision>(*next(study.view, role)).stage == 0);
  }
  study.view.state.decided.insert(study.name(0));
  CHECK(std::get<ReleaseStage>(*next(study.view, Role::reduce)) == ReleaseStage{0, 2});
  study.manifest(2, 2, 1);
  // The skipped stage goes as a whole, its reducer too; of the released one tasks 2 and 3.
  CHECK(std::get<DropTasks>(*next(study.view, Role::reduce)) == DropTasks{study.name(1), 12, 0, 4});
  study.view.live_jobs->erase(12);
  CHECK(std::get<CancelJob>(*next(study.view, Role::reduce)).job == 13);
  study.view.live_jobs->erase(13);
  CHECK(std::get<DropTasks>(*next(study.view, Role::reduce)) == DropTasks{study.name(2), 14, 2, 4});
  study.view.state.dropped.insert({14, 2});
  CHECK_FALSE(next(study.view, Role::reduce));
}

TEST_CASE("decide: resume runs lost tasks again, and only those", "[study]") {
  ViewBuilder study(2);
  study.manifest(0, 4, 1);
  study.job(study.name(0), JobKind::array, 10, Life::over);
  study.shard(0, 0, 1, ViewBuilder::End::done);
  study.shard(0, 3, 1, ViewBuilder::End::done);
  const auto submit = std::get<SubmitJob>(*next(study.view, Role::resume));
  CHECK(submit.stage == study.name(0));
  CHECK(submit.attempt == 1);
  CHECK(submit.first_slice == 1);
  CHECK(submit.tasks == 2);
  CHECK(submit_all(study, Role::resume).size() == 5);
  CHECK_FALSE(next(study.view, Role::resume));
}

TEST_CASE("decide: what could not be launched and is held goes, and runs again", "[study]") {
  ViewBuilder study(2);
  study.manifest(0, 1, 1);
  study.job(study.name(0), JobKind::array, 10, Life::live);
  study.job(study.name(0), JobKind::reducer, 11, Life::live);
  study.view.held_jobs = {10};
  // A reducer that happens to look leaves it: it was not called for that.
  CHECK_FALSE(decide(study.view, {Role::reduce, 0}, noon));
  CHECK(next(study.view, Role::resume) == Action(CancelJob{10}));
  study.view.live_jobs->erase(10);
  study.view.held_jobs.clear();
  // Its reducer is there and concludes with what there is; the rest of the graph is missing.
  CHECK(std::get<SubmitJob>(*next(study.view, Role::resume)).stage == study.name(1));
}

TEST_CASE("decide: resume gives a stage up after three arrays and concludes what there is",
          "[study]") {
  ViewBuilder study(1);
  study.manifest(0, 1, 1);
  for (int i = 0; i < 3; ++i) study.job(study.name(0), JobKind::array, 10 + i, Life::over);
  study.view.settled = true;
  CHECK(std::holds_alternative<ReduceStage>(*next(study.view, Role::resume)));
}

TEST_CASE("decide: resume concludes a finished stage before it submits anything", "[study]") {
  ViewBuilder study(2);
  study.manifest(0, 1, 1);
  study.run(0);
  CHECK(std::holds_alternative<ReduceStage>(*next(study.view, Role::resume)));
}

TEST_CASE("decide: the end of a study leaves no job but its own", "[study]") {
  ViewBuilder study(2);
  study.manifest(0, 1, 1);
  study.run(0);
  study.job(study.name(0), JobKind::reducer, 11, Life::live);
  study.job(study.name(1), JobKind::array, 12, Life::live);
  study.job({}, JobKind::final, 15, Life::live);
  study.view.own_job = 11;
  study.decide(0, NextAction::finish, 0);
  const auto finish = std::get<FinishStudy>(*next(study.view, Role::reduce));
  CHECK(finish.decided == 0);
  study.view.state.finished = Finished{};
  CHECK(std::get<CancelJob>(*next(study.view, Role::reduce)).job == 12);
  study.view.live_jobs->erase(12);
  CHECK(std::get<CancelJob>(*next(study.view, Role::guard)).job == 15);
  study.view.live_jobs->erase(15);
  CHECK_FALSE(next(study.view, Role::finish));
}

TEST_CASE("decide: the guard ends a study with what there is", "[study]") {
  ViewBuilder study(2);
  study.manifest(0, 1, 1);
  const auto finish = std::get<FinishStudy>(*next(study.view, Role::guard));
  CHECK_FALSE(finish.decided);
  CHECK(finish.stop == Stop::deadline);
}

TEST_CASE("decide: cancel is journalled first, then jobs go, then the result is written",
          "[study]") {
  ViewBuilder study(1);
  study.manifest(0, 1, 1);
  study.job(study.name(0), JobKind::array, 12, Life::live);
  CHECK(std::holds_alternative<RecordCancelled>(*next(study.view, Role::cancel)));
  study.view.state.cancelled = true;
  // Any other process that comes by goes on with it.
  CHECK(std::get<CancelJob>(*next(study.view, Role::reduce)).job == 12);
  study.view.live_jobs->clear();
  CHECK(std::get<FinishStudy>(*next(study.view, Role::cancel)).stop == Stop::cancelled);
}

namespace {

/// A finished study of mode = "run" whose training waits as job 20.
ViewBuilder with_training() {
  ViewBuilder study(1);
  study.manifest(0, 1, 1);
  study.run(0);
  study.decide(0, NextAction::finish, 0);
  study.view.plan.launch = PlannedLaunch{.nodes = 2, .walltime_s = 60};
  study.view.state.finished =
      Finished{.stop = Stop::gain, .best = ConfigurationId{"9f3c1e07a2b4c6d8e0f1"}};
  study.job({}, JobKind::launch, 20, Life::live);
  return study;
}

}  // namespace

TEST_CASE("decide: the training is submitted last, after final", "[study]") {
  ViewBuilder study(1);
  study.view.plan.launch = PlannedLaunch{.nodes = 2, .walltime_s = 60};
  study.manifest(0, 1, 1);
  study.job(study.name(0), JobKind::array, 12, Life::live);
  study.job(study.name(0), JobKind::reducer, 13, Life::live);
  CHECK(std::get<SubmitJob>(*next(study.view, Role::submit)).kind == JobKind::final);
  study.job({}, JobKind::final, 15, Life::live);
  const auto training = std::get<SubmitJob>(*next(study.view, Role::submit));
  CHECK(training.kind == JobKind::launch);
  CHECK(training.after_any == std::vector<std::int64_t>{15});
  study.job({}, JobKind::launch, 20, Life::live);
  CHECK_FALSE(next(study.view, Role::submit));
}

TEST_CASE("decide: a training that may be launched is no leftover", "[study]") {
  ViewBuilder study = with_training();
  CHECK_FALSE(next(study.view, Role::finish));
  SECTION("without a winner it is") {
    study.view.state.finished->best.reset();
    CHECK(std::get<CancelJob>(*next(study.view, Role::finish)).job == 20);
  }
  SECTION("cancelled after the end, it is journalled, then cancelled") {
    CHECK(std::holds_alternative<RecordCancelled>(*next(study.view, Role::cancel)));
    study.view.state.cancelled = true;
    CHECK(std::get<CancelJob>(*next(study.view, Role::cancel)).job == 20);
    study.view.live_jobs->clear();
    CHECK_FALSE(next(study.view, Role::cancel));
    CHECK_FALSE(next(study.view, Role::resume));
  }
}

TEST_CASE("decide: resume submits a training that was lost before it began, and no other",
          "[study]") {
  ViewBuilder study = with_training();
  CHECK_FALSE(next(study.view, Role::resume));
  study.view.live_jobs->clear();
  const auto training = std::get<SubmitJob>(*next(study.view, Role::resume));
  CHECK(training.kind == JobKind::launch);
  CHECK(training.attempt == 1);
  CHECK_FALSE(next(study.view, Role::finish));
  study.view.state.training = TrainingRecord{.job = 20, .started = {}, .ended = {}, .exit_code = 0};
  CHECK_FALSE(next(study.view, Role::resume));
}

namespace {

/// A stage of two tasks, of which the second was ended by the window before its experiment.
ViewBuilder cut_by_window() {
  ViewBuilder study(2);
  study.manifest(0, 2, 1);
  study.view.state.created.window = TimeWindow{parse_daily_hours("20:00-07:00").value(), {{}}};
  study.job(study.name(0), JobKind::array, 100, Life::over, 2);
  study.shard(0, 0, 1, ViewBuilder::End::done);
  study.shard(0, 1, 1, ViewBuilder::End::none);
  Shard& cut = study.view.stages[0].shards.back();
  cut.verdicts.front().outcome = Outcome::not_started;
  cut.verdicts.front().reason = "no_time";
  cut.end = TaskEnd{.at = {}, .reason = "window", .node_seconds = 10};
  study.view.settled = true;
  return study;
}

}  // namespace

TEST_CASE("decide: what the window cut off is not concluded, but run again by resume", "[study]") {
  ViewBuilder study = cut_by_window();
  CHECK_FALSE(next(study.view, Role::reduce, 0));
  const auto report = next(study.view, Role::finish);
  REQUIRE(report);
  CHECK(std::holds_alternative<ReportSoFar>(*report));
  study.view.reported = true;
  CHECK_FALSE(next(study.view, Role::finish));
  const auto again = next(study.view, Role::resume);
  REQUIRE(again);
  const auto& submit = std::get<SubmitJob>(*again);
  CHECK(submit.kind == JobKind::array);
  CHECK(submit.first_slice == 1);
  CHECK(submit.tasks == 1);
}

TEST_CASE("decide: by steps the reducer submits what the window cut off", "[study]") {
  ViewBuilder study = cut_by_window();
  study.view.state.created.submit = "step";
  const auto again = next(study.view, Role::reduce, 0);
  REQUIRE(again);
  CHECK(std::get<SubmitJob>(*again).first_slice == 1);
}

TEST_CASE(
    "decide: no window follows where the deadline is near, and none that the budget has no "
    "room for",
    "[study]") {
  ViewBuilder study = cut_by_window();
  study.view.deadline_near = true;
  CHECK(std::holds_alternative<ReduceStage>(*next(study.view, Role::reduce, 0)));
  ViewBuilder poor = cut_by_window();
  poor.view.plan.budget_node_seconds = 20;
  poor.view.stages[0].manifest->task_walltime_s = 600;
  CHECK(std::holds_alternative<ReduceStage>(*next(poor.view, Role::reduce, 0)));
  CHECK(std::holds_alternative<ReduceStage>(*next(poor.view, Role::resume)));
}

TEST_CASE("decide: a guard whose deadline was put off leaves the study alone", "[study]") {
  ViewBuilder study(1);
  study.manifest(0, 1, 1);
  study.view.state.deadline = noon + std::chrono::minutes(14);
  CHECK(std::holds_alternative<FinishStudy>(*next(study.view, Role::guard)));
  study.view.state.deadline = noon + std::chrono::hours(3);
  study.view.state.deadline_since = noon;
  CHECK_FALSE(next(study.view, Role::guard));
}

TEST_CASE("decide: another deadline gets another guard in the place of the old one", "[study]") {
  ViewBuilder study(1);
  study.manifest(0, 1, 1);
  study.view.state.deadline = noon + std::chrono::hours(3);
  study.view.state.deadline_since = noon;
  study.job({}, JobKind::guard, 100, Life::live);
  study.job(study.name(0), JobKind::array, 101, Life::live);
  CHECK(next(study.view, Role::extend) == Action(CancelJob{100}));
  study.view.live_jobs->erase(100);
  const auto guard = next(study.view, Role::extend);
  REQUIRE(guard);
  CHECK(std::get<SubmitJob>(*guard).kind == JobKind::guard);
  CHECK(std::get<SubmitJob>(*guard).attempt == 1);
  study.job({}, JobKind::guard, 102, Life::live);
  study.view.state.jobs.back().intended_at = noon;
  CHECK_FALSE(next(study.view, Role::extend));
}

TEST_CASE("decide: a guard is there also where no stage can end before the deadline", "[study]") {
  ViewBuilder study(1);
  study.manifest(0, 1, 1);
  study.view.state.deadline = noon + std::chrono::minutes(20);
  study.view.deadline_near = true;
  CHECK(submit_all(study, Role::submit).front() == "guard-0");
  ViewBuilder late(1);
  late.manifest(0, 1, 1);
  late.view.state.deadline = noon;
  late.view.deadline_near = true;
  late.view.deadline_passed = true;
  CHECK(submit_all(late, Role::submit).front() == "01-stage-a-0");
}
