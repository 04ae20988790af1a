// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "slurmtune/base/instant.hpp"
#include "slurmtune/study/scheduler.hpp"
#include "slurmtune/study/view.hpp"

namespace slurmtune {

/// When a study may end, and what that is an estimate from.
struct ExpectedEnd {
  Instant at;
  std::int64_t experiments = 0;  ///< left; of stages to come as many as are likely
  double experiment_s = 0.0;     ///< that each takes, in seconds
  bool measured = false;         ///< the mean of those that ended; else the plan's likely times
  /// When the queue says that the current stage starts, if it waits and the queue says so.
  std::optional<Instant> queue_start;
  /// A wait in the queue is not in it: of the current stage without a start, of stages to come.
  bool waits_left_out = false;
  bool by_deadline = false;  ///< the deadline comes first
};

/// Absent for a study that is over, or of which nothing is known to count with. Experiments of a
/// task run one after another on its lanes, tasks as many at once as the plan lets.
[[nodiscard]] std::optional<ExpectedEnd> expected_end(const StudyView& view,
                                                      std::span<const JobReport> jobs, Instant now);

/// `2026-12-01T04:10Z, in 2 h 05 min: an estimate from 12 experiments left at 41 s each (measured)`
[[nodiscard]] std::string in_words(const ExpectedEnd& end, Instant now);

}  // namespace slurmtune
