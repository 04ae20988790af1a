// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "slurmtune/input/study_input.hpp"
#include "slurmtune/plan/plan.hpp"

namespace slurmtune {

/// What is left of the account (site key balance_command) against the plan's worst case, one line;
/// that the command fails is said in it, too. "" where the site has no such command.
[[nodiscard]] std::string balance_text(const StudyInput& input, const Plan& plan);

/// Warns where the plan's worst case is above what is left of the account, or that is not known.
void warn_of_balance(const StudyInput& input, const Plan& plan);

}  // namespace slurmtune
