// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/base/instant.hpp"
#include "slurmtune/tune/autotuner.hpp"
#include "slurmtune/tune/world.hpp"

namespace slurmtune {

/// What the user wants changed; absent = stays as it is. All of them are for the whole study, what
/// was spent included.
struct Extension {
  std::optional<double> max_node_hours{};
  std::optional<double> max_gpu_hours{};
  std::optional<std::int64_t> max_experiments{};
  std::optional<std::string> finish_by{};  ///< as budget.finish_by
};

/// A study after its budget was changed.
struct ExtendedStudy {
  std::optional<std::int64_t> budget_node_seconds;
  std::int64_t spent_node_seconds = 0;
  std::optional<std::int64_t> max_experiments;
  std::int64_t experiments_run = 0;
  std::optional<Instant> deadline;
  /// The stage after which `resume` goes on, of a study that had ended; "" of one that runs.
  std::string goes_on_with;
};

/// Errors: invalid_input if nothing is asked for, or what no study can have.
[[nodiscard]] Expected<void> check_extension(const Extension& wanted, Instant now);

/// Changes budget or deadline of a study: journals it, and gets a guard for a new deadline in place
/// of the old one. Reducers and tasks read the journal, nothing else is submitted.
/// Errors: invalid_input if nothing is asked for, if less is allowed than was spent, if a time is
/// past, if the study was cancelled or had ended for another reason than want of budget or time, or
/// if its plan has no stage left that could use more; those of Autotuner::advance.
[[nodiscard]] Expected<ExtendedStudy> extend_study(Autotuner& autotuner, const Extension& wanted,
                                                   const World& world);

}  // namespace slurmtune
