// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "slurmtune/input/study_input.hpp"
#include "slurmtune/plan/plan.hpp"
#include "slurmtune/report/table.hpp"

namespace slurmtune {

/// A table of the budgets that a study has: the limit, what the plan may take at worst, what it
/// likely takes. "" if it has none.
[[nodiscard]] std::string budgets_table(const StudyInput& input, const Plan& plan, Colour colour);

}  // namespace slurmtune
