// SPDX-License-Identifier: MIT
#include <algorithm>

#include <nlohmann/json.hpp>

#include "slurmtune/report/progress.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/report/report_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

JobRecord array_job(const ReportedStudy& study, std::int64_t number) {
  JobRecord job;
  job.stage = study.view.plan.stages[0].name;
  job.name = "st-6b1f3c52-01-profile-a-0";
  job.tasks = 1;
  job.job = number;
  return job;
}

std::string status_of(const ReportedStudy& study, const std::vector<JobReport>& jobs = {}) {
  return status_text({study.place(), study.input, study.view, jobs}, Colour::never);
}

/// Half of the first stage was measured; its task goes on.
ReportedStudy half_way() {
  ReportedStudy study = ReportedStudy::confirmed();
  study.view.stages[1] = {};
  Shard& shard = study.view.stages[0].shards[0];
  shard.end.reset();
  shard.verdicts.pop_back();
  return study;
}

}  // namespace

TEST_CASE("progress counts what is done, running and waiting", "[report]") {
  const auto stages = progress_of(half_way().view);
  REQUIRE(stages.size() == 2);
  CHECK(stages[0].state == StageProgressState::running);
  CHECK(stages[0].experiments == 3);
  CHECK(stages[0].done == 2);
  CHECK(stages[0].running == 1);
  CHECK(stages[0].waiting == 0);
  CHECK(in_words(stages[0].outcomes) == "2 ok");
  CHECK(stages[1].state == StageProgressState::waiting);
}

TEST_CASE("a requeued task counts once", "[report]") {
  ReportedStudy study = half_way();
  Shard again = study.view.stages[0].shards[0];
  again.start.restart = 1;
  study.view.stages[0].shards.push_back(again);
  const auto stages = progress_of(study.view);
  CHECK(stages[0].done == 2);
  CHECK(stages[0].running == 1);
}

TEST_CASE("of a requeued task what it says last counts, and not before it says it", "[report]") {
  ReportedStudy study = ReportedStudy::confirmed();
  auto& shards = study.view.stages[0].shards;
  const Shard whole = shards[0];
  shards[0].verdicts[0].outcome = Outcome::preempted;
  Shard again = whole;
  again.start.restart = 1;
  again.start.at += std::chrono::hours(1);
  again.verdicts.clear();
  again.end.reset();
  shards.push_back(again);
  const auto before = progress_of(study.view)[0];
  CHECK(before.running == 1);
  CHECK_FALSE(before.outcomes.contains(Outcome::preempted));
  // Whatever the clocks of the nodes say.
  shards.back().verdicts = {whole.verdicts[0]};
  shards.back().verdicts[0].outcome = Outcome::ok;
  shards.back().verdicts[0].ended = shards[0].verdicts[0].ended - std::chrono::minutes(5);
  shards.back().end = whole.end;
  const auto after = progress_of(study.view)[0];
  CHECK(after.done == after.experiments);
  CHECK_FALSE(after.outcomes.contains(Outcome::preempted));
}

TEST_CASE("the progress line names stage, count, last verdict, the fastest and the cost",
          "[report]") {
  ReportedStudy study = half_way();
  CHECK(progress_line(study.input, study.view) ==
        "01-profile 2/3 done, last z1_gas2_tmbspg4 ok, fastest z1_gas2_tmbspg4 139 samples/s, "
        "0.00 node-hours");
  study.view.stages[0].manifest.reset();
  study.view.stages[0].shards.clear();
  CHECK(progress_line(study.input, study.view) == "01-profile waiting, 0.00 node-hours");
}

TEST_CASE("a decision's best stands, whatever is faster by one reading", "[report]") {
  ReportedStudy study = half_way();
  Decision decision;
  decision.stage = study.view.plan.stages[0].name;
  decision.next.action = NextAction::release;
  decision.next.stage = study.view.plan.stages[1].name;
  decision.best = BestSoFar{configuration_id(zero(0, 1)), about(100.0), 0.9};
  study.view.stages[0].decision = decision;
  const auto leader = leader_of(study.input, study.view);
  REQUIRE(leader);
  CHECK(leader->decided);
  CHECK(leader->label == "z0_gas2_tmbspg1");
  CHECK(contains(status_of(study), "best      z0_gas2_tmbspg1 100 samples/s"));
}

TEST_CASE("status says what the queue waits for", "[report]") {
  ReportedStudy study = half_way();
  study.view.stages[0].shards.clear();
  study.view.state.jobs.push_back(array_job(study, 4711));
  const JobReport pending{.job = {4711},
                          .task = std::nullopt,
                          .name = "st",
                          .state = JobState::pending,
                          .reason = "Priority",
                          .nodes = ""};
  const std::string text = status_of(study, {pending});
  CHECK(contains(text, "waits for 01-profile in the queue: job 4711 is pending (Priority)"));
  CHECK(contains(text, "st-6b1f3c52-01-profile-a-0"));
  CHECK(contains(text, "0/3"));
}

TEST_CASE("what waits for the next window is named with its job and its time", "[report]") {
  ReportedStudy study = half_way();
  Shard& shard = study.view.stages[0].shards[0];
  Verdict cut = shard.verdicts.back();
  cut.experiment = study.view.stages[0].manifest->experiments[2].id;
  cut.outcome = Outcome::not_started;
  shard.verdicts.push_back(cut);
  shard.end = TaskEnd{.at = ReportedStudy::instant(9), .reason = "window", .node_seconds = 20};
  JobRecord next = array_job(study, 192);
  study.view.state.jobs = {array_job(study, 11), next};
  // By a clock that is an hour ahead of UTC.
  study.view.state.created.window =
      TimeWindow{parse_daily_hours("02:27-03:29").value(), {{{}, std::chrono::hours(1)}}};
  const JobReport waiting{.job = {192},
                          .task = std::nullopt,
                          .name = "st",
                          .state = JobState::pending,
                          .reason = "BeginTime",
                          .nodes = ""};
  const Instant now = ReportedStudy::instant(60);  // 21:01 UTC
  const auto text = [&](std::vector<JobReport> jobs) {
    return status_text({study.place(), study.input, study.view, jobs, now}, Colour::never);
  };
  const auto stage = progress_of(study.view)[0];
  CHECK(stage.state == StageProgressState::queued);
  CHECK(stage.done == 2);
  CHECK(stage.waiting == 1);
  CHECK_FALSE(stage.outcomes.contains(Outcome::not_started));
  const std::string begins = "job 192, which begins tomorrow 02:27\n";
  CHECK(contains(text({waiting}), "waits for 1 experiments of 01-profile in " + begins));
  JobReport running = waiting;
  running.job = {11};
  running.task = 0;
  running.state = JobState::running;
  CHECK(contains(text({running, waiting}),
                 "1 experiments of 01-profile; what did not fit into this window is in " + begins));
  JobReport later = waiting;
  later.starts = ReportedStudy::instant(86'400 * 5);
  CHECK(contains(text({later}), "which begins 2026-12-05 22:00\n"));
  later.starts = ReportedStudy::instant(3600);
  CHECK(contains(text({later}), "which begins today 23:00\n"));
  // Once the stage is concluded, nobody runs them any more.
  study.view.state.finished = Finished{Stop::deadline, std::nullopt};
  CHECK(progress_of(study.view)[0].outcomes.at(Outcome::not_started) == 1);
}

TEST_CASE("status says what it could not ask the queue", "[report]") {
  const ReportedStudy study = half_way();
  StatusInput status{study.place(), study.input, study.view, {}};
  CHECK_FALSE(contains(status_text(status, Colour::never), "not known"));
  CHECK(status_json(status).at("queue_error") == nullptr);
  status.queue_error = "Slurm does not answer (to ask for jobs): munge is away";
  const std::string text = status_text(status, Colour::never);
  CHECK(contains(text, "  queue     not known: Slurm does not answer (to ask for jobs): munge"));
  CHECK(contains(text, "waits for its jobs, as far as the files tell; if none is left: "));
  CHECK(status_json(status).at("queue_error") == status.queue_error);
}

TEST_CASE("status says how to go on where no job is left", "[report]") {
  ReportedStudy study = half_way();
  const std::string resume = "slurmtune resume " + study.place().root().string();
  CHECK(contains(status_of(study), resume));
  study.view.state.finished = Finished{Stop::gain, configuration_id(zero(1, 4))};
  const std::string text = status_of(study);
  CHECK(contains(text, "finished (gain)"));
  CHECK_FALSE(contains(text, "waits for"));
  CHECK(contains(text, "slurmtune report "));
}

TEST_CASE("status of a study of which nothing is there yet is a text", "[report]") {
  ReportedStudy study;
  const std::string text = status_of(study);
  CHECK(contains(text, "01-profile  waiting"));
  CHECK_FALSE(contains(text, "fastest"));
}

TEST_CASE("status as JSON holds the same figures", "[report]") {
  ReportedStudy study = half_way();
  study.view.state.jobs.push_back(array_job(study, 4711));
  const std::vector<JobReport> jobs{{.job = {4711},
                                     .task = 0,
                                     .name = "st",
                                     .state = JobState::running,
                                     .reason = "",
                                     .nodes = "n[1-2]"}};
  const Json json = status_json({study.place(), study.input, study.view, jobs});
  CHECK(json.at("format") == "slurmtune.status");
  CHECK(json.at("version") == 1);
  CHECK(json.at("stages").at(0).at("done") == 2);
  CHECK(json.at("stages").at(0).at("outcomes").at("ok") == 2);
  CHECK(json.at("best").at("label") == "z1_gas2_tmbspg4");
  CHECK(json.at("best").at("decided") == false);
  CHECK(json.at("jobs").at(0).at("state") == "running");
  CHECK(json.at("jobs").at(0).at("task") == 0);
  CHECK(json.at("finished") == false);
  // A task that goes on is charged to its limit, and has used what it has used.
  CHECK(json.at("spent_node_seconds") == 1200);
  CHECK(json.at("used_node_seconds") == 4);
  CHECK(json.at("deadline") == nullptr);
  CHECK(json.at("budgets").at(0).at("name") == "node-hours");
  CHECK(json.at("budgets").at(0).at("limit") == nullptr);
  CHECK(json.at("budgets").at(0).at("spent").get<double>() * 3600 == Approx(1200.0));
  CHECK(json.at("jobs").at(0).at("starts") == nullptr);
  CHECK(json.contains("expected_end"));
}

TEST_CASE("status has one row for tasks of a job that are in the same state", "[report]") {
  ReportedStudy study = half_way();
  study.view.state.jobs.push_back(array_job(study, 4711));
  std::vector<JobReport> jobs;
  constexpr std::int64_t tasks = 10'000;
  for (std::int64_t i = 0; i < tasks; ++i) {
    jobs.push_back({.job = {4711},
                    .task = i,
                    .name = "st",
                    .state = JobState::running,
                    .reason = "None",
                    .nodes = i % 2 == 0 ? "n1" : "n2"});
  }
  const std::string text = status_of(study, jobs);
  CHECK(contains(text, "st-6b1f3c52-01-profile-a-0  10000 running          n1,n2"));
  CHECK(std::count(text.begin(), text.end(), '\n') < 20);
}

TEST_CASE("status says what is spent and left of each budget", "[report]") {
  ReportedStudy study = half_way();
  study.view.plan.budget_node_seconds = 3600;
  study.input.spec.budget.max_experiments = 8;
  const std::string text = status_of(study);
  CHECK(contains(text,
                 "  spent     node-hours 0.33 of 1.00, 0.67 left (0.00 used; tasks that go on "
                 "are charged to their limit)\n"));
  CHECK(contains(text, "            experiments 2 of 8, 6 left\n"));
}

TEST_CASE("status of scripts that nobody has submitted says so", "[report]") {
  ReportedStudy study;
  study.view.state.created.submit = "scripts";
  CHECK(contains(status_of(study), "waits for its job scripts, which are to be submitted by hand"));
}
