// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "slurmtune/analyze/result_analyzer.hpp"
#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/record/outcome.hpp"
#include "slurmtune/study/event.hpp"
#include "slurmtune/study/view.hpp"
#include "slurmtune/tune/autotuner.hpp"

namespace slurmtune {

/// Outcomes that a user may have mended: the trial's surroundings, not what its configuration
/// needs.
[[nodiscard]] const std::set<Outcome>& mendable_outcomes();

/// What running failed experiments again comes to.
struct RetryPlan {
  std::vector<RetriedTry> tries;    ///< sorted
  std::vector<std::string> labels;  ///< of their experiments
  std::int64_t due = 0;             ///< experiments that are tried again anyway
  std::int64_t too_late = 0;        ///< that failed, and no stage is left that could run them
  StageName by;                     ///< the stage whose conclusion proposes them
  /// In a finished study: the decision that takes the place of its end, and what it releases.
  std::optional<Reduction> reopening;
};

/// Which experiments are run again, and where: those whose last word is one of `outcomes`, unless
/// they are tried again by themselves. In a study that goes on they are left to whoever concludes
/// its current stage; decisions that stand are not touched. A finished study is opened again if its
/// last stage, concluded without what these tries said, would have been followed by another one.
/// Empty `tries`: nothing failed so. Pure.
/// Errors: invalid_input if the study was cancelled or ended at its deadline, if its training has
/// begun, or if no stage of the plan is left to run them; those of ResultAnalyzer::reduce.
[[nodiscard]] Expected<RetryPlan> plan_retry(const StudyInput& input, const StudyView& view,
                                             const std::set<Outcome>& outcomes,
                                             const Spending& spending);

/// Plans it and journals it; a study that was finished goes on with Role::resume.
/// Errors: as above; those of the disk.
[[nodiscard]] Expected<RetryPlan> retry_failed(Autotuner& autotuner, const World& world,
                                               const std::set<Outcome>& outcomes);

}  // namespace slurmtune
