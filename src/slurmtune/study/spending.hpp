// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "slurmtune/input/study_input.hpp"
#include "slurmtune/study/view.hpp"

namespace slurmtune {

/// Node-seconds that the budget keeps for jobs that are not array tasks with work: reducers, guard
/// and final, those that were submitted again among them; tasks of arrays that are wider than
/// needed. 0 without a budget.
[[nodiscard]] std::int64_t overhead_node_seconds(const StudyView& view);

/// How many tasks of a stage may be submitted once more, each at its limit, so that the budget
/// still holds the confirmation; absent without a budget.
[[nodiscard]] std::optional<std::int64_t> tasks_within_budget(const StudyView& view,
                                                              std::size_t stage);

/// The study's input with the budget that its extensions have set.
[[nodiscard]] StudyInput with_extension(StudyInput input, const Extended& extension);

}  // namespace slurmtune
