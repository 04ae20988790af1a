// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "slurmtune/base/error.hpp"
#include "slurmtune/generate/experiment_generator.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/plan/plan.hpp"
#include "slurmtune/record/decision.hpp"

namespace slurmtune {

/// What a reducer must know besides manifests and verdicts.
struct Spending {
  std::int64_t node_seconds = 0;  ///< of all tasks so far; one without task_end counts to its limit
  /// What the budget keeps for reducers, guard, final and the ends of tasks.
  std::int64_t overhead_node_seconds = 0;
  bool deadline_passed = false;  ///< no further stage may start
  bool cancelled = false;        ///< the user ended the study
};

/// A decision, and the manifest that it releases.
struct Reduction {
  Decision decision;
  std::optional<Manifest> next;  ///< present unless decision.next.action is finish
};

/// Statistics, outcomes, decisions. Pure: equal manifests, verdicts (in any order) and spending
/// give equal bytes.
class ResultAnalyzer {
 public:
  ResultAnalyzer(const StudyInput& input, const Plan& plan) : input_(input), plan_(plan) {}

  /// Concludes from everything up to the last stage of `history` what follows it.
  /// `history` holds the stages that ran, in the order of the plan, the last one being reduced.
  [[nodiscard]] Expected<Reduction> reduce(std::span<const StageHistory> history,
                                           const Spending& spending) const;

  /// The result as it stands, from whatever has been measured; used by reduce on finish, by the
  /// guard at the deadline and by `report` while a study runs.
  [[nodiscard]] TuningResult result(std::span<const StageHistory> history, const Spending& spending,
                                    Stop stop) const;

 private:
  const StudyInput& input_;
  const Plan& plan_;
};

}  // namespace slurmtune
