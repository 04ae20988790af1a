// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace slurmtune {

/// How one try of an experiment ended.
enum class Outcome {
  ok,
  gpu_oom,
  host_oom,
  nan,
  timeout,        ///< longer than limits.total_s
  hang,           ///< no step in limits.stall_s (or limits.startup_s before the first)
  config_error,   ///< the trial refused its configuration
  launch_error,   ///< port, module, container, exec, loader
  storage_error,  ///< disk full, quota, stale handle
  crashed,        ///< signal, abort, unknown exit
  preempted,
  node_failure,
  cancelled,
  not_started,
};

/// What an outcome says about memory.
enum class MemoryEvidence { none, fits, exceeds_gpu, exceeds_host };

/// Whether an experiment that ended so is tried again.
enum class Retry {
  never,
  once_elsewhere,  ///< once more, on other nodes
  twice,           ///< twice more, then it counts as config_error
  while_budget_lasts,
  stops_study,  ///< never, and the study ends with exit code 3
};

/// One row of the table of outcomes (formats.md, section 3); the documentation is made from it.
struct OutcomeRule {
  Outcome outcome;
  std::string_view name;
  MemoryEvidence memory;
  bool counts_as_tried;
  bool rankable;  ///< its metrics may be compared
  Retry retry;
  std::string_view meaning;
};

/// All rows, in the order of the enum.
[[nodiscard]] std::span<const OutcomeRule> outcome_rules();
[[nodiscard]] const OutcomeRule& rule_of(Outcome outcome);
[[nodiscard]] std::string_view name_of(Outcome outcome);
[[nodiscard]] std::optional<Outcome> outcome_named(std::string_view name);

/// True if an experiment whose tries so far number `tries` (this one included) and whose last
/// ended as `outcome` should be tried again.
[[nodiscard]] bool is_tried_again(Outcome outcome, int tries);

}  // namespace slurmtune
