// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/plan/plan.hpp"

namespace slurmtune {

/// Jobs of a graph besides arrays and their reducers: guard and final.
inline constexpr std::int64_t jobs_beside_stages = 2;

/// A job of trials must have as many nodes as the site gives one.
/// Errors: invalid_input, with what to change.
[[nodiscard]] Expected<void> check_nodes(const StudyInput& input, std::int64_t nodes_per_task);

/// Notes the rules of the centre that no controller enforces, where the plan does not keep them.
void add_rule_notes(const Site& site, SubmitMode submit, Plan& plan);

}  // namespace slurmtune
