// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"

namespace slurmtune {

/// Whether somebody can report what the objective and its conditions speak of. A name that neither
/// verdicts nor parameters have is left to the trial, and said in a note (the return value).
/// Errors: invalid_input, `study.toml:line: …`, for one that is nearly a known name, where a trial
/// is not expected to report names of its own (`measure.source` is not metrics_file).
[[nodiscard]] Expected<std::vector<std::string>> check_objective_names(const StudyInput& input);

}  // namespace slurmtune
