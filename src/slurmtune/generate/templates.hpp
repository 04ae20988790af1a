// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

#include "slurmtune/input/study_spec.hpp"
#include "slurmtune/record/experiment.hpp"
#include "slurmtune/search/search_context.hpp"

namespace slurmtune {

/// Keeps of the proposals, in order, what may be run: the first of equal ones, nothing that was
/// asked for already (in the same repeat and as many steps), nothing that the space does not
/// contain, but for the baseline, which is always worth measuring.
[[nodiscard]] std::vector<Proposal> prune_configs(std::vector<Proposal> proposals,
                                                  const SearchContext& context);

/// Makes an experiment of a proposal: ids, label (with `_r<repeat>` behind, from repeat 1 on), the
/// numbers of steps (the proposal's, where it has any) and the limits of [measure].
[[nodiscard]] Experiment build_experiment(const Proposal& proposal, const MeasureSpec& measure);

}  // namespace slurmtune
