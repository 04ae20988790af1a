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

/// GPUs of a node as the budget counts them: as many as the site says, else as many as its trials
/// have processes.
[[nodiscard]] int gpus_of_node(const StudyInput& input);

/// The tighter of max_node_hours and max_gpu_hours, in node-seconds.
[[nodiscard]] std::optional<std::int64_t> budget_node_seconds(const StudyInput& input);

/// What the budget keeps for jobs that are not work: reducers, guard and final at their worst, and
/// 5 s a task for its start and end, or for finding its slice empty.
[[nodiscard]] std::int64_t overhead_of(const Plan& plan);

/// What a budget is charged if each stage of the plan runs at its worst, in node-seconds: all tasks
/// and overhead_of. Not bounded by the budget, which reducers keep.
[[nodiscard]] std::int64_t planned_worst(const Plan& plan);

/// What must be left over for the stage after which a winner is known.
struct ConfirmReserve {
  std::int64_t node_seconds = 0;
  std::int64_t experiments = 0;
};
/// The first round of confirm after stage `index`; nothing if that is confirm itself, or later.
[[nodiscard]] ConfirmReserve confirm_reserve(const Plan& plan, std::size_t index);

/// From the first task to the end of final, without any wait in a queue: all tasks of a stage at
/// once, or as many as may run. In seconds.
struct GraphTime {
  std::int64_t likely_s = 0;
  std::int64_t worst_s = 0;
};
[[nodiscard]] GraphTime graph_time(const Plan& plan);

/// Lowers optional stages until all experiments together stay within budget.max_experiments; what
/// is left without any goes to `pruned`. Errors: invalid_input if the mandatory stages do not fit,
/// or if_over = "refuse" and not all do.
[[nodiscard]] Expected<void> fit_experiments(const StudyInput& input, StageTable& table);

/// Admits a plan to its budget: the mandatory stages must fit at their worst. An optional stage is
/// lowered to what can be left for it at most: the budget, less the likely case of all before it,
/// less the worst case of the mandatory ones after it; one that cannot have a task goes to
/// `pruned`. The sum of all worst cases may still exceed the budget: reducers look at what was
/// really spent. Needs plan.budget_node_seconds, lone_job_node_seconds and asked_node_seconds, and
/// renames stages so that they count from 1. Errors: invalid_input naming both figures, also where
/// if_over = "refuse" and the plan does not fit as a whole.
[[nodiscard]] Expected<void> fit_budget(const StudyInput& input, const TaskRules& rules,
                                        Plan& plan);

}  // namespace slurmtune
