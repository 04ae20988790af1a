// SPDX-License-Identifier: MIT
#pragma once

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/plan/plan.hpp"
#include "slurmtune/record/decision.hpp"
#include "slurmtune/study/study_directory.hpp"
#include "slurmtune/study/view.hpp"

namespace slurmtune {

/// Writes everything that is derived from a result: best/ (ds_config_optimal.json,
/// cmd_optimal.sh, train_optimal.sbatch, summary.txt) and results.csv. It may be done again at any
/// time and replaces what stands there. Without a best experiment only summary.txt and results.csv
/// are written: never a configuration that failed.
[[nodiscard]] Expected<void> write_outputs(const StudyDirectory& directory, const StudyInput& input,
                                           const Plan& plan, const StudyView& view,
                                           const TuningResult& result);

}  // namespace slurmtune
