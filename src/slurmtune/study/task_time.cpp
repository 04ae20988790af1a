// SPDX-License-Identifier: MIT
#include "slurmtune/study/task_time.hpp"

#include <algorithm>
#include <chrono>
#include <map>

namespace slurmtune {

namespace {

using std::chrono::seconds;

std::int64_t whole_seconds(Instant from, Instant to) {
  return std::max<std::int64_t>(0, std::chrono::ceil<seconds>(to - from).count());
}

}  // namespace

bool ended_by_window(const Shard& shard) { return shard.end && shard.end->reason == end_by_window; }

std::int64_t used_by_starts(std::int64_t array_job, std::int64_t slice, int before, Instant until,
                            std::int64_t walltime_s, std::span<const Shard> shards,
                            SilentStarts silent_starts) {
  std::map<int, const Shard*> starts;
  for (const Shard& shard : shards) {
    const TaskStart& start = shard.start;
    if (start.array_job != array_job || start.slice != slice || start.restart >= before) continue;
    starts[start.restart] = &shard;
  }
  std::int64_t used = 0;
  std::int64_t silent = 0;  // what those without a shard used at most, since the last one with one
  Instant next = until;
  for (int restart = before - 1; restart >= 0; --restart) {
    const auto found = starts.find(restart);
    if (found == starts.end()) {
      if (silent_starts == SilentStarts::charged) silent += walltime_s;
      continue;
    }
    const Shard& shard = *found->second;
    // They began after it had ended, and were over when the next one began.
    if (shard.end) {
      used += shard.end->node_seconds / std::max(1, shard.start.allocated_nodes) +
              std::min(silent, whole_seconds(shard.end->at, next));
    } else {
      used += std::min(walltime_s + silent, whole_seconds(shard.start.at, next));
    }
    silent = 0;
    next = shard.start.at;
  }
  return used + silent;
}

TaskLimit task_limit(const TaskRun& run, std::span<const Shard> shards) {
  TaskLimit limit{run.job_ends_by, end_by_job};
  const auto bound = [&](Instant at, std::string_view reason) {
    if (limit.ends_by && *limit.ends_by <= at) return;
    limit = {at, reason};
  };
  if (run.has_budget && run.restart > 0) {
    const std::int64_t used =
        used_by_starts(run.array_job, run.slice, run.restart, run.started, run.walltime_s, shards);
    bound(run.started + seconds(std::max<std::int64_t>(0, run.walltime_s - used)), end_by_budget);
  }
  if (run.deadline) bound(*run.deadline - guard_margin, end_by_deadline);
  if (run.window) {
    const TimeSpan span = run.window->span_at(run.started);
    bound(span.contains(run.started) ? span.end : run.started, end_by_window);
  }
  return limit;
}

}  // namespace slurmtune
