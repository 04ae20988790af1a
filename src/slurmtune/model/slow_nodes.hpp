// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "slurmtune/record/node.hpp"

namespace slurmtune {

/// With fewer nodes there are no peers: of two that differ, either may be the odd one.
inline constexpr std::size_t peers_min = 3;

/// Fills in NodeRecord::slow. A node is slow in a figure if it is at least 10 % below the median of
/// all nodes that have that figure, and its robust z-score, 0.6745 (x - median) / MAD, is below
/// -3.5. Where half of the nodes or more are equal (MAD 0) the 10 % alone decide.
/// With fewer than peers_min nodes nothing is judged.
/// Source: Iglewicz and Hoaglin, "How to Detect and Handle Outliers", ASQC (1993).
void judge_nodes(std::vector<NodeRecord>& nodes);

/// Names of the nodes that are slow, in order.
[[nodiscard]] std::vector<std::string> slow_nodes(const std::vector<NodeRecord>& nodes);

}  // namespace slurmtune
