// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/record/decision.hpp"
#include "slurmtune/record/experiment.hpp"
#include "slurmtune/space/space.hpp"

namespace slurmtune {

/// A stage before it is cut into tasks.
struct StageDraft {
  Purpose kind = Purpose::profile;
  int round = 0;
  bool mandatory = false;
  std::int64_t experiments = 0;  ///< at most
  std::int64_t likely_experiments = 0;
  std::optional<std::int64_t> tasks;  ///< wanted; absent = as packing makes it

  bool operator==(const StageDraft&) const = default;
};

/// The stages of a study, in the order of the graph, and what they leave out.
struct StageTable {
  std::vector<StageDraft> stages;
  std::vector<Dropped> pruned;
  std::int64_t grid_size = 0;  ///< 0 = too many to count
};

/// A grid must be countable, and be over one day.
inline constexpr std::size_t grid_size_max = 100'000;

/// Rows of the table (a new kind of study is new rows):
///
///     deepspeed  profile   baseline, and each open ZeRO stage at two micro-batches   mandatory
///                frontier  search.width experiments, search.rounds rounds            the first
///                curve     search.width experiments                                  no
///                knobs     with fast = false: a third of the experiments each round,
///                          search.knob_experiments in all                            no
///     grid       grid      every configuration, and the baseline                     yes
///     halving    halving   the baseline and search.width x search.rounds drawn ones,
///                          then a third each round                                   the first
///     all        confirm   leaders and baseline, three repeats, two rounds           the first
///
/// Each repeat of confirm has an array task of its own, so that leaders and baseline alternate on
/// the same nodes, and the repeats run on different ones.
/// How many of them are likely to be needed is a guess: each further round of frontier half as many
/// as the one before, half of curve, a quarter of the second confirm.
/// Errors: invalid_input if the strategy does not go with the study or is not supported, if no ZeRO
/// stage can fit, if a grid is too large or empty.
[[nodiscard]] Expected<StageTable> stage_table(const StudyInput& input, const Space& space);

/// The strategy that `auto` stands for: deepspeed where there is a [deepspeed] section, else grid.
[[nodiscard]] StrategyKind resolved_strategy(const StudySpec& spec);

}  // namespace slurmtune
