// SPDX-License-Identifier: MIT
//
// What `decide` submits: parts of stages that are wider than an array, and steps.

#include "slurmtune/study/decide_submit.hpp"

#include "slurmtune/study/decide.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/study/next_action.hpp"
#include "tests/unit/study/view_builder.hpp"

using namespace slurmtune;

namespace {

using Life = ViewBuilder::Life;
/// Submits and cancels what is asked for until nothing more is; returns what was done, in order.
std::vector<std::string> do_all(ViewBuilder& study, Role role, std::int64_t number,
                                std::size_t stage = 0) {
  std::vector<std::string> order;
  for (int i = 0; i < 50; ++i) {
    const auto action = next(study.view, role, stage);
    if (!action) return order;
    if (const auto* cancel = std::get_if<CancelJob>(&*action)) {
      order.push_back(fmt::format("cancel {}", cancel->job));
      study.view.live_jobs->erase(cancel->job);
      continue;
    }
    const auto& submit = std::get<SubmitJob>(*action);
    std::string line =
        job_name(study.view.plan.study, submit.stage, submit.kind, submit.attempt).substr(12);
    if (submit.tasks) {
      line +=
          fmt::format(" slices {}-{}", submit.first_slice, submit.first_slice + *submit.tasks - 1);
    }
    for (const std::int64_t after : submit.after_any) line += fmt::format(" after {}", after);
    order.push_back(line);
    study.job(submit.stage, submit.kind, number++, Life::live, submit.tasks.value_or(1));
    study.view.state.jobs.back().first_slice = submit.first_slice;
  }
  FAIL("submits without end");
  return order;
}

using Lines = std::vector<std::string>;

/// A study of ten slices in its first stage, where an array has four tasks at most.
ViewBuilder in_parts() {
  ViewBuilder study(2);
  study.view.plan.array_tasks_max = 4;
  study.view.plan.stages[0].tasks_max = study.view.plan.stages[0].tasks_at_once = 10;
  study.manifest(0, 10, 1);
  return study;
}

ViewBuilder by_steps() {
  ViewBuilder study(3);
  study.view.state.created.submit = "step";
  study.manifest(0, 3, 1);
  return study;
}

}  // namespace

TEST_CASE("decide: a stage that is wider than an array is several, and its reducer waits for all",
          "[study]") {
  ViewBuilder study = in_parts();
  CHECK(do_all(study, Role::submit, 100) ==
        Lines{"01-stage-a-0 slices 0-3", "01-stage-a-1 slices 4-7", "01-stage-a-2 slices 8-9",
              "01-stage-r-0 after 100 after 101 after 102", "02-stage-a-0 slices 0-3 after 103",
              "02-stage-r-0 after 104", "final-0 after 105"});
}

TEST_CASE("decide: what waits for a number that was given away again is submitted anew",
          "[study]") {
  // slurmctld was killed, forgot 7 and 8, and began again at 4: the second stage's array waits for
  // 8, which is `final` now, and that one for the second stage.
  ViewBuilder study(2);
  study.manifest(0, 4, 1);
  study.job(study.view.plan.stages[0].name, JobKind::array, 7, Life::live, 4);
  study.job(study.view.plan.stages[0].name, JobKind::reducer, 8, Life::live);
  for (JobRecord& job : study.view.state.jobs) job.lost = true;
  study.job(study.view.plan.stages[1].name, JobKind::array, 4, Life::live, 4);
  study.job(study.view.plan.stages[1].name, JobKind::reducer, 7, Life::live);
  study.job({}, JobKind::final, 8, Life::live);
  CHECK(do_all(study, Role::submit, 9) ==
        Lines{"cancel 8", "cancel 7", "cancel 4", "01-stage-a-1 slices 0-3", "01-stage-r-1 after 9",
              "02-stage-a-1 slices 0-3 after 10", "02-stage-r-1 after 11", "final-1 after 12"});
}

TEST_CASE("decide: under a throttle the parts of a stage run one after another", "[study]") {
  ViewBuilder study = in_parts();
  study.view.plan.stages[0].tasks_at_once = 3;
  const auto order = do_all(study, Role::submit, 100);
  REQUIRE(order.size() == 7);
  CHECK(order[1] == "01-stage-a-1 slices 4-7 after 100");
  CHECK(order[2] == "01-stage-a-2 slices 8-9 after 100 after 101");
}

TEST_CASE("decide: a graph of which some parts were submitted is completed, not doubled",
          "[study]") {
  ViewBuilder study = in_parts();
  study.job(study.name(0), JobKind::array, 10, Life::live, 4);
  study.job(study.name(0), JobKind::array, 11, Life::over, 4);
  study.view.state.jobs.back().first_slice = 4;
  const auto order = do_all(study, Role::resume, 100);
  REQUIRE(order.size() >= 3);
  CHECK(order[0] == "01-stage-a-2 slices 4-7");
  CHECK(order[1] == "01-stage-a-3 slices 8-9");
  CHECK(order[2] == "01-stage-r-0 after 10 after 100 after 101");
}

TEST_CASE("decide: a part covers only slices that no other part runs", "[study]") {
  ViewBuilder study = in_parts();
  study.job(study.name(0), JobKind::array, 10, Life::live, 2);
  study.view.state.jobs.back().first_slice = 2;
  const auto order = do_all(study, Role::resume, 100);
  REQUIRE(order.size() >= 4);
  CHECK(order[0] == "01-stage-a-1 slices 0-1");
  CHECK(order[1] == "01-stage-a-2 slices 4-7");
  CHECK(order[2] == "01-stage-a-3 slices 8-9");
  CHECK(order[3] == "01-stage-r-0 after 10 after 100 after 101 after 102");
}

TEST_CASE("decide: parts beyond the slices that were released go as a whole, others in part",
          "[study]") {
  ViewBuilder study(2);
  study.manifest(0, 1, 1);
  study.run(0);
  study.view.plan.stages[1].tasks_max = 10;
  for (const std::int64_t first : {0, 4, 8}) {
    study.job(study.name(1), JobKind::array, 20 + first, Life::live, 4);
    study.view.state.jobs.back().first_slice = first;
  }
  study.decide(0, NextAction::release, 1);
  study.manifest(1, 6, 1);
  CHECK(std::get<DropTasks>(*next(study.view, Role::reduce)) == DropTasks{study.name(1), 24, 2, 4});
  study.view.state.dropped.insert({24, 2});
  CHECK(std::get<DropTasks>(*next(study.view, Role::reduce)) == DropTasks{study.name(1), 28, 0, 4});
}

TEST_CASE("decide: a slice is run three times at most, whatever its neighbours were", "[study]") {
  ViewBuilder study(1);
  study.manifest(0, 4, 1);
  for (int i = 0; i < 3; ++i) {
    study.job(study.name(0), JobKind::array, 10 + i, Life::over, 1);
    study.view.state.jobs.back().first_slice = 2;
  }
  CHECK(missing_slices(study.view, 0) == std::vector<std::int64_t>{0, 1, 3});
}

TEST_CASE("decide: attempts that only a closed window ended do not count", "[study]") {
  ViewBuilder study(1);
  study.manifest(0, 1, 1);
  for (int i = 0; i < 3; ++i) {
    study.job(study.name(0), JobKind::array, 10 + i, Life::over, 1);
    study.shard(0, 0, 0, ViewBuilder::End::none);
    Shard& shard = study.view.stages[0].shards.back();
    shard.start.array_job = 10 + i;
    shard.end = TaskEnd{.at = {}, .reason = i == 0 ? "no_time" : "window", .node_seconds = 0};
  }
  CHECK_FALSE(is_given_up(study.view, 0));
  CHECK(missing_slices(study.view, 0) == std::vector<std::int64_t>{0});
}

TEST_CASE("decide: by steps only the current stage is submitted, at its size, with two reducers",
          "[study]") {
  ViewBuilder study = by_steps();
  CHECK(do_all(study, Role::resume, 100) ==
        Lines{"01-stage-a-0 slices 0-2", "01-stage-r-0 after 100", "01-stage-r-1 after 101"});
}

TEST_CASE("decide: a reducer submits the next stage and takes its stand-in back", "[study]") {
  ViewBuilder study = by_steps();
  do_all(study, Role::resume, 100);
  study.view.live_jobs->erase(100);
  study.view.own_job = 101;
  study.run(0);
  CHECK(std::holds_alternative<ReduceStage>(*next(study.view, Role::reduce)));
  study.decide(0, NextAction::release, 1);
  study.manifest(1, 2, 1);
  CHECK(do_all(study, Role::reduce, 200) == Lines{"02-stage-a-0 slices 0-1",
                                                  "02-stage-r-0 after 200",
                                                  "02-stage-r-1 after 201", "cancel 102"});
}

TEST_CASE("decide: a stand-in goes on where the reducer died", "[study]") {
  ViewBuilder study = by_steps();
  do_all(study, Role::resume, 100);
  study.view.live_jobs->erase(100);
  study.view.live_jobs->erase(101);
  study.view.own_job = 102;
  study.run(0);
  study.decide(0, NextAction::release, 1);
  study.manifest(1, 2, 1);
  study.job(study.name(1), JobKind::array, 150, Life::live, 2);
  CHECK(do_all(study, Role::reduce, 200) ==
        Lines{"02-stage-r-0 after 150", "02-stage-r-1 after 200"});
}

TEST_CASE("decide: by steps what a dead task left open is run again, three times at most",
          "[study]") {
  ViewBuilder study = by_steps();
  do_all(study, Role::resume, 100);
  study.shard(0, 0, 1, ViewBuilder::End::done);
  study.shard(0, 2, 1, ViewBuilder::End::done);
  study.view.live_jobs->erase(100);
  study.view.own_job = 101;
  CHECK(std::holds_alternative<AwaitShards>(*next(study.view, Role::reduce)));
  study.view.settled = true;
  CHECK(do_all(study, Role::reduce, 200) == Lines{"01-stage-a-1 slices 1-1",
                                                  "01-stage-r-2 after 200",
                                                  "01-stage-r-3 after 201", "cancel 102"});
  study.view.live_jobs = std::set<std::int64_t>{201, 202};
  study.view.own_job = 201;
  CHECK(do_all(study, Role::reduce, 300).front() == "01-stage-a-2 slices 1-1");
  study.view.live_jobs = std::set<std::int64_t>{301};
  study.view.own_job = 301;
  CHECK(std::holds_alternative<ReduceStage>(*next(study.view, Role::reduce)));
}

TEST_CASE("decide: a reducer that begins before the last array waits for nobody, but leaves one",
          "[study]") {
  ViewBuilder study = by_steps();
  study.job(study.name(0), JobKind::array, 10, Life::live, 3);
  study.job(study.name(0), JobKind::reducer, 11, Life::live);
  study.view.own_job = 11;
  CHECK(do_all(study, Role::reduce, 100) ==
        Lines{"01-stage-r-1 after 10", "01-stage-r-2 after 100"});
}

TEST_CASE("decide: by steps a job waits for another submitter, and a user is told of it",
          "[study]") {
  ViewBuilder study = by_steps();
  JobRecord intent;
  intent.name = "st-6b1f3c52-01-stage-a-0";
  intent.stage = study.name(0);
  intent.by = "login1:77";
  intent.intended_at = noon - std::chrono::seconds(30);
  study.view.state.jobs.push_back(intent);
  CHECK(std::get<AwaitSubmitter>(*next(study.view, Role::reduce)).name == intent.name);
  CHECK_FALSE(decide(study.view, {Role::resume, 0}, noon));
}

TEST_CASE("decide: by steps the job that finishes a study submits its training", "[study]") {
  ViewBuilder study = by_steps();
  study.run(0);
  study.decide(0, NextAction::finish, 0);
  study.view.plan.launch = PlannedLaunch{.nodes = 2, .walltime_s = 60};
  study.view.state.finished =
      Finished{.stop = Stop::gain, .best = ConfigurationId{"9f3c1e07a2b4c6d8e0f1"}};
  for (const Role role : {Role::reduce, Role::guard}) {
    CHECK(std::get<SubmitJob>(*next(study.view, role)).kind == JobKind::launch);
  }
}

TEST_CASE("decide: what the time of one job cut short is left to the next one", "[study]") {
  ViewBuilder study(1);
  study.view.state.created.submit = "one-job";
  study.manifest(0, 2, 1);
  study.job(study.name(0), JobKind::array, 10, Life::over, 2);
  study.shard(0, 0, 1, ViewBuilder::End::done);
  study.shard(0, 1, 0, ViewBuilder::End::none);
  study.view.stages[0].shards.back().start.array_job = 10;
  study.view.stages[0].shards.back().end =
      TaskEnd{.at = {}, .reason = "no_time", .node_seconds = 0};
  study.view.settled = true;
  CHECK(std::holds_alternative<ReduceStage>(*next(study.view, Role::reduce)));
  study.view.time_follows = true;
  CHECK(decide(study.view, {Role::reduce, 0}, noon).error().kind == ErrorKind::unavailable);
  CHECK(std::get<SubmitJob>(*next(study.view, Role::resume)).first_slice == 1);
}

TEST_CASE("decide: by steps a study ends only once no job is at a submission", "[study]") {
  ViewBuilder study = by_steps();
  study.job(study.name(0), JobKind::array, 10, Life::live, 3);
  study.job(study.name(0), JobKind::reducer, 11, Life::live);
  JobRecord intent;
  intent.name = "st-6b1f3c52-02-stage-a-0";
  intent.stage = study.name(1);
  intent.by = "n1:77";
  intent.intended_at = noon;
  study.view.state.jobs.push_back(intent);
  study.view.state.cancelled = true;
  CHECK(std::holds_alternative<AwaitSubmitter>(*next(study.view, Role::cancel)));
  study.view.submitter_is_dead = true;
  CHECK(std::holds_alternative<LookUpJob>(*next(study.view, Role::cancel)));
  study.view.state.jobs.back().lost = true;
  CHECK(std::get<CancelJob>(*next(study.view, Role::cancel)).job == 10);
}

TEST_CASE("decide: a training is left to the job that has all of its time for it", "[study]") {
  ViewBuilder study(1);
  study.view.state.created.submit = "one-job";
  study.view.plan.launch = PlannedLaunch{.nodes = 1, .walltime_s = 60};
  study.manifest(0, 1, 1);
  study.job(study.name(0), JobKind::array, 10, Life::live, 4);
  study.job(study.name(0), JobKind::reducer, 11, Life::live);
  study.job({}, JobKind::final, 12, Life::live);
  study.view.time_follows = true;
  CHECK_FALSE(next(study.view, Role::resume));
  study.view.time_follows = false;
  CHECK(std::get<SubmitJob>(*next(study.view, Role::resume)).kind == JobKind::launch);
}
