// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "slurmtune/runner/start/environment.hpp"

namespace slurmtune {

/// Where a lane's trials run.
struct LanePlace {
  std::vector<int> ranks;  ///< of the runner, one a node; the first leads the lane
  int share = 0;           ///< which part of its node, if it has it not for itself
  int shares = 1;          ///< into how many parts the node is divided
};

/// Divides the nodes of a task (one rank of the runner each) among lanes: consecutive groups of
/// `nodes_per_trial`. Trials of one node may be more than there are nodes: then lanes share them.
/// Gives as many lanes as fit, at least one, which then has all the nodes.
[[nodiscard]] std::vector<LanePlace> lay_out_lanes(int lanes, int nodes_per_trial, int nodes);

/// Part `share` of `shares` of a list, in order; the parts differ by one at most.
[[nodiscard]] std::vector<std::string> part_of(const std::vector<std::string>& list, int share,
                                               int shares);

/// The accelerators that the environment offers, as CUDA_VISIBLE_DEVICES names them (or
/// ROCR_VISIBLE_DEVICES); without that variable 0, 1, … up to SLURM_GPUS_ON_NODE.
[[nodiscard]] std::vector<std::string> visible_devices(const Environment& environment);

/// What a lane that shares its node sets in its trials' environment: its part of the accelerators,
/// if there are any. Programs count theirs from 0.
void limit_devices(Environment& environment, const LanePlace& place);

}  // namespace slurmtune
