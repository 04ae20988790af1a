// SPDX-License-Identifier: MIT
#pragma once

#include "slurmtune/base/error.hpp"
#include "slurmtune/record/node.hpp"
#include "slurmtune/runner/rank_group.hpp"
#include "slurmtune/runner/start/environment.hpp"

namespace slurmtune {

/// Measures the nodes of the ranks, all at once, and what is between them: some seconds. Collective
/// over the ranks, one a node; the result is complete on rank 0, with its slow nodes judged.
/// What cannot be measured is left out and said in the notes.
[[nodiscard]] ProbeResult probe_nodes(const RankGroup& group, const Environment& environment);

}  // namespace slurmtune
