// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <span>
#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/base/time_window.hpp"
#include "slurmtune/plan/submit_costs.hpp"
#include "slurmtune/report/text.hpp"

namespace slurmtune {

/// How long jobs would wait in the queue as it is, or why that is not known.
struct QueueWaits {
  Expected<std::chrono::seconds> task = unavailable("nobody was asked");   ///< an array task
  Expected<std::chrono::seconds> whole = unavailable("nobody was asked");  ///< the whole study
  /// Jobs of trials wait for it, too, from `now` on.
  std::optional<TimeWindow> window = std::nullopt;
  Instant now = {};
};

/// The ways to submit a study beside each other: jobs, waits in the queue, node-hours; and which
/// one the plan is made for, and why.
[[nodiscard]] std::string submit_text(std::span<const SubmitCost> costs, const Plan& plan,
                                      const QueueWaits& waits, Colour colour);

}  // namespace slurmtune
