// SPDX-License-Identifier: MIT
#include "slurmtune/report/expected_end.hpp"

#include <fmt/format.h>

#include "slurmtune/report/budgets.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/report/report_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

constexpr std::int64_t array_number = 4711;

/// Two of three experiments of the first stage took 30 s each; the second stage likely has six, in
/// two tasks at once.
ReportedStudy half_way() {
  ReportedStudy study = ReportedStudy::confirmed();
  study.view.stages[1] = {};
  Shard& shard = study.view.stages[0].shards[0];
  shard.end.reset();
  shard.verdicts.pop_back();
  for (Verdict& verdict : shard.verdicts) verdict.wall_s = 30.0;
  PlannedStage& later = study.view.plan.stages[1];
  later.experiments_max = 6;
  later.tasks_max = 2;
  later.tasks_at_once = 2;
  later.likely_experiments = 6;
  JobRecord job;
  job.stage = study.view.plan.stages[0].name;
  job.job = array_number;
  study.view.state.jobs.push_back(job);
  return study;
}

JobReport array_in(JobState state, std::optional<Instant> starts = std::nullopt) {
  JobReport report{.job = {array_number},
                   .task = std::nullopt,
                   .name = "st",
                   .state = state,
                   .reason = "",
                   .nodes = ""};
  report.starts = starts;
  return report;
}

}  // namespace

TEST_CASE("expected_end: what is left at the measured rate, tasks side by side", "[report]") {
  const ReportedStudy study = half_way();
  const Instant now = ReportedStudy::instant(1000);
  const std::vector<JobReport> jobs{array_in(JobState::running)};
  const auto end = expected_end(study.view, jobs, now);
  REQUIRE(end);
  CHECK(end->measured);
  CHECK(end->experiments == 7);
  CHECK(end->experiment_s == Approx(30.0));
  // One left, and then three in each of two tasks.
  CHECK(end->at == now + std::chrono::seconds(30 + 90));
  CHECK(end->waits_left_out);
  CHECK(in_words(*end, now) ==
        "about 2026-11-30T21:18Z, in 2 min: an estimate from 7 experiments left at 30 s each "
        "(measured); waits in the queue are not in it");
}

TEST_CASE("expected_end: the queue's expected start is counted, and said", "[report]") {
  const ReportedStudy study = half_way();
  const Instant now = ReportedStudy::instant(1000);
  const Instant start = ReportedStudy::instant(5000);
  const std::vector<JobReport> jobs{array_in(JobState::pending, start)};
  const auto end = expected_end(study.view, jobs, now);
  REQUIRE(end);
  CHECK(end->queue_start == start);
  CHECK(end->at == start + std::chrono::seconds(120));
  CHECK(in_words(*end, now).find("the start that the queue expects") != std::string::npos);
}

TEST_CASE("expected_end: what waits for the window ends after it opens", "[report]") {
  ReportedStudy study = half_way();
  study.view.state.created.window =
      TimeWindow{parse_daily_hours("02:27-03:29").value(), {{{}, std::chrono::hours(0)}}};
  const Instant now = ReportedStudy::instant(1000);
  std::vector<JobReport> jobs{array_in(JobState::pending, std::nullopt)};
  jobs[0].reason = "BeginTime";
  jobs.push_back(array_in(JobState::running, std::nullopt));
  const auto end = expected_end(study.view, jobs, now);
  REQUIRE(end);
  CHECK(end->queue_start == parse_instant("2026-12-01T02:27:00Z").value());
  CHECK(end->at == *end->queue_start + std::chrono::seconds(120));
}

TEST_CASE("expected_end: without a measurement the plan's likely times count", "[report]") {
  ReportedStudy study = half_way();
  study.view.stages[0].shards.clear();
  for (PlannedStage& stage : study.view.plan.stages) {
    stage.likely_experiments = 3;
    stage.likely_node_seconds = 300;  // 100 s each
  }
  const auto end = expected_end(study.view, {}, ReportedStudy::instant(0));
  REQUIRE(end);
  CHECK_FALSE(end->measured);
  CHECK(end->experiment_s == Approx(100.0));
}

TEST_CASE("expected_end: never after the deadline, and none of a study that is over", "[report]") {
  ReportedStudy study = half_way();
  study.view.state.deadline = ReportedStudy::instant(1010);
  const auto end = expected_end(study.view, {}, ReportedStudy::instant(1000));
  REQUIRE(end);
  CHECK(end->by_deadline);
  CHECK(end->at == ReportedStudy::instant(1010));
  study.view.state.finished = Finished{Stop::gain, std::nullopt};
  CHECK_FALSE(expected_end(study.view, {}, ReportedStudy::instant(1000)));
}

TEST_CASE("budget_lines: what is spent and left of each", "[report]") {
  ReportedStudy study = ReportedStudy::confirmed();
  study.view.plan.budget_node_seconds = 3600;
  study.input.site.gpus_per_node = 4;
  study.input.spec.budget.max_experiments = 10;
  for (Shard& shard : study.view.stages[0].shards) shard.start.gpus = 8;
  const auto lines = budget_lines(study.input, study.view);
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].name == "node-hours");
  CHECK(lines[0].spent * 3600 == Approx(static_cast<double>(spent_node_seconds(study.view))));
  CHECK(*lines[0].left() == Approx(1.0 - lines[0].spent));
  CHECK(lines[1].name == "GPU-hours");
  // 100 s of two nodes with eight GPUs in all.
  CHECK(lines[1].spent * 3600 == Approx(800.0));
  CHECK_FALSE(lines[1].left());
  CHECK(lines[2].name == "experiments");
  CHECK(in_words(lines[2]) ==
        fmt::format("{0:.0f} of 10, {1:.0f} left", lines[2].spent, 10 - lines[2].spent));
}
