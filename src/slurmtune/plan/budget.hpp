// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/plan/packing.hpp"
#include "slurmtune/plan/plan.hpp"
#include "slurmtune/plan/stage_table.hpp"

namespace slurmtune {

/// The tighter of max_node_hours and max_gpu_hours, in node-seconds. A node is taken to have as
/// many GPUs as the site says, else as many as its trials have processes.
[[nodiscard]] std::optional<std::int64_t> budget_node_seconds(const StudyInput& input);

/// Lowers optional stages until all experiments together stay within budget.max_experiments; what
/// is left without any goes to `pruned`. Errors: invalid_input if the mandatory stages do not fit.
[[nodiscard]] Expected<void> fit_experiments(const StudyInput& input, StageTable& table);

/// Admits a plan to its budget: the mandatory stages must fit at their worst. An optional stage is
/// lowered to what can be left for it at most: the budget, less the likely case of all before it,
/// less the worst case of the mandatory ones after it; one that cannot have a task goes to
/// `pruned`. The sum of all worst cases may still exceed the budget: reducers look at what was
/// really spent. Needs plan.budget_node_seconds, and renames stages so that they count from 1.
/// Errors: invalid_input naming both figures.
[[nodiscard]] Expected<void> fit_budget(const StudyInput& input, const TaskRules& rules,
                                        Plan& plan);

}  // namespace slurmtune
