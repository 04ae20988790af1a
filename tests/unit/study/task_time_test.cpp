// SPDX-License-Identifier: MIT
#include "slurmtune/study/task_time.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;
using namespace std::chrono_literals;

namespace {

const Instant evening = parse_instant("2026-11-30T21:00:00Z").value();

/// A task of 30 minutes, in array job 7, slice 2.
TaskRun run(int restart, Instant started) {
  return {.array_job = 7,
          .slice = 2,
          .restart = restart,
          .started = started,
          .job_ends_by = started + 30min,
          .walltime_s = 1800,
          .has_budget = true,
          .window = std::nullopt,
          .deadline = std::nullopt};
}

Shard start(int restart, Instant at, std::optional<std::int64_t> used_s) {
  Shard shard;
  shard.start.array_job = 7;
  shard.start.slice = 2;
  shard.start.restart = restart;
  shard.start.allocated_nodes = 2;
  shard.start.at = at;
  if (used_s) shard.end = TaskEnd{.at = at, .reason = "preempted", .node_seconds = 2 * *used_s};
  return shard;
}

}  // namespace

TEST_CASE("A task that is started for the first time has the time of its job", "[study]") {
  const TaskLimit limit = task_limit(run(0, evening), {});
  CHECK(limit.ends_by == evening + 30min);
  CHECK(limit.reason == end_by_job);
}

TEST_CASE("A task that is requeued has what its earlier starts left of its walltime", "[study]") {
  const Instant again = evening + 2h;
  const std::vector<Shard> shards{start(0, evening, 600)};
  const TaskLimit limit = task_limit(run(1, again), shards);
  CHECK(limit.ends_by == again + 20min);
  CHECK(limit.reason == end_by_budget);
  TaskRun free = run(1, again);
  free.has_budget = false;
  CHECK(task_limit(free, shards).ends_by == again + 30min);
  // Other tasks are none of its business.
  Shard other = start(0, evening, 1800);
  other.start.slice = 3;
  CHECK(task_limit(run(1, again), std::vector{start(0, evening, 600), other}).ends_by ==
        again + 20min);
}

TEST_CASE("A start without its end is charged until the next, one without a shard wholly",
          "[study]") {
  const Instant again = evening + 5min;
  CHECK(task_limit(run(1, again), std::vector{start(0, evening, {})}).ends_by == again + 25min);
  const Instant late = evening + 9h;
  CHECK(task_limit(run(1, late), std::vector{start(0, evening, {})}).ends_by == late);
  CHECK(task_limit(run(1, again), {}).ends_by == again);
  // Two starts, of which the first never wrote a line.
  CHECK(used_by_starts(7, 2, 2, again, 1800, std::vector{start(1, evening, 60)}) == 1860);
}

TEST_CASE("A start without a shard is charged no more than lies between its neighbours",
          "[study]") {
  std::vector<Shard> shards{start(0, evening, 60)};
  shards[0].end->at = evening + 60s;
  // Start 1 left nothing; start 2 came five minutes after start 0 had ended.
  const Instant third = evening + 6min;
  CHECK(used_by_starts(7, 2, 2, third, 1800, shards) == 60 + 300);
  CHECK(used_by_starts(7, 2, 2, evening + 9h, 1800, shards) == 60 + 1800);
  CHECK(used_by_starts(7, 2, 2, third, 1800, shards, SilentStarts::free) == 60);
  CHECK(task_limit(run(2, third), shards).ends_by == third + 24min);
  // Start 0 told of no end: both together had the time until start 2.
  shards[0].end.reset();
  CHECK(used_by_starts(7, 2, 2, third, 1800, shards) == 360);
  CHECK(used_by_starts(7, 2, 2, evening + 9h, 1800, shards) == 3600);
}

TEST_CASE("A task ends with the window, at once if that is closed", "[study]") {
  TaskRun night = run(0, parse_instant("2026-12-01T06:45:00Z").value());
  night.window = TimeWindow{parse_daily_hours("20:00-07:00").value(), {{evening, 0s}}};
  CHECK(task_limit(night, {}).ends_by == parse_instant("2026-12-01T07:00:00Z").value());
  CHECK(task_limit(night, {}).reason == end_by_window);
  night.started = parse_instant("2026-12-01T12:00:00Z").value();
  night.job_ends_by = night.started + 30min;
  CHECK(task_limit(night, {}).ends_by == night.started);
  night.started = evening;
  night.job_ends_by = evening + 30min;
  CHECK(task_limit(night, {}).reason == end_by_job);
}

TEST_CASE("No task works when the guard begins", "[study]") {
  TaskRun task = run(0, evening);
  task.deadline = evening + 40min;
  CHECK(task_limit(task, {}).ends_by == evening + 25min);
  CHECK(task_limit(task, {}).reason == end_by_deadline);
}
