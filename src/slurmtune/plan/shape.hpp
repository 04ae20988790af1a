// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/plan/packing.hpp"
#include "slurmtune/plan/stage_table.hpp"

namespace slurmtune {

/// A draft and the tasks that it has become.
struct Shaped {
  StageDraft draft;
  ArrayShape shape;
};

/// `graph`, `step`, `one-job`, …: the word of [slurm] submit.
[[nodiscard]] std::string_view name_of(SubmitMode mode);

/// True if the stages are job arrays of Slurm, which the site's limits are for.
[[nodiscard]] bool is_in_arrays(SubmitMode mode);

/// Jobs that stand in the queue beside the tasks of a stage where each reducer submits the next
/// one: that reducer and the one that waits for its death, the two of the next stage, and guard.
inline constexpr std::int64_t jobs_beside_a_step = 5;

/// Errors: invalid_input if the site does not let jobs submit jobs and `mode` needs it.
[[nodiscard]] Expected<void> check_submit(const StudyInput& input, SubmitMode mode);

/// The jobs of a graph with all stages, guard and final in as few tasks as there can be, which
/// submit_jobs_max is compared with. Errors: as those of make_plan, if there is no such graph.
[[nodiscard]] Expected<std::int64_t> fewest_graph_jobs(const StudyInput& input);

/// Packs all stages into tasks so that no more jobs stand in the queue than one user may submit: of
/// the whole graph, or of the widest step. Where even the narrowest graph is too many, optional
/// stages go, last first. How many tasks one array may have is no limit: a wider stage is several.
/// Errors: invalid_input, with what to write instead, if that is not possible.
[[nodiscard]] Expected<std::vector<Shaped>> shape_within_limits(const StudyInput& input,
                                                                SubmitMode mode,
                                                                const TaskRules& rules,
                                                                StageTable& table);

}  // namespace slurmtune
