// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/record/manifest.hpp"
#include "slurmtune/record/verdict.hpp"
#include "slurmtune/simulate/performance_surface.hpp"
#include "slurmtune/study/scheduler.hpp"

namespace slurmtune {

/// Which task of which stage a simulated runner is.
struct RunnerPlace {
  std::int64_t slice = 0;
  std::int64_t array_job = 0;
  std::int64_t task = 0;
  int restart = 0;
  std::vector<std::string> nodes;
  Instant started;
  std::optional<Instant> ends_by;
  /// What earlier starts of the task have judged already (experiment, attempt).
  std::set<std::pair<ExperimentId, int>> judged;
};

/// What slurmtune-runner would do in an array task: the lines of its shard, and when.
class SimulatedTask {
 public:
  /// Lanes pull the experiments of the slice in order; one that might not end before `ends_by` is
  /// `not_started`, reason `no_time`. A slice that the manifest does not have is empty.
  SimulatedTask(const Manifest& manifest, const RunnerPlace& place,
                const PerformanceSurface& surface);

  [[nodiscard]] std::chrono::milliseconds duration() const { return ended_ - start_.at; }

  /// The shard as it stands once the task has ended in `state` at `at`. A task that was cancelled,
  /// preempted or out of time has judged what it was running `preempted`; one whose node failed
  /// just stops.
  [[nodiscard]] std::vector<ShardLine> shard(JobState state, Instant at) const;

 private:
  [[nodiscard]] TaskEnd end_line(Instant at, std::string reason) const;

  TaskStart start_;
  std::vector<Verdict> verdicts_;  ///< in the order in which they end
  Instant ended_;
};

/// All lines of a shard, each with its newline.
[[nodiscard]] Expected<std::string> render_shard(const std::vector<ShardLine>& lines);

}  // namespace slurmtune
