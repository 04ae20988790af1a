// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "slurmtune/space/level_problem.hpp"

namespace slurmtune {

/// What is known of partial combinations when some variables are bound.
struct BoundStates {
  std::size_t count = 0;
  std::span<const ValueGraph::Node> nodes;       ///< whose values are known
  std::span<const std::vector<double>> columns;  ///< of each node, one value a state
};

/// Which states cannot become valid whatever the variables that are not bound yet will be: the
/// bounds of what a rule can still be do not hold true. Rules are those that are not decided, by
/// their nodes; none of their variables may be absent. `dead` has a place for each state and keeps
/// what it has.
///
/// Bounds are those of interval arithmetic, which need no margin: rounding is monotonic, so that
/// the bounds of a rounded operation are the rounded bounds. Where an operation is not monotonic
/// between its bounds (a power, a function), nothing is said.
void mark_dead_states(const LevelProblem& problem, std::span<const ValueGraph::Node> rules,
                      const BoundStates& states, std::vector<char>& dead);

}  // namespace slurmtune
