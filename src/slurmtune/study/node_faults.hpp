// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "slurmtune/study/view.hpp"

namespace slurmtune {

/// A node that failed, and how.
struct FaultyNode {
  std::string node;
  std::vector<std::string> faults;  ///< one for each, oldest stage first: `02-frontier: NODE_FAIL`

  bool operator==(const FaultyNode&) const = default;
};

/// Nodes that failed twice or more, those with most faults first. A fault is a task that ended
/// with NODE_FAIL or BOOT_FAIL, a trial whose node failed under it, and a trial that could not be
/// started on a node that never ran one while others did. Of a task or trial on several nodes the
/// one that is named as the cause; where none is, each of them, unless it worked afterwards. A node
/// that is merely slow is no faulty one.
[[nodiscard]] std::vector<FaultyNode> faulty_nodes(const StudyView& view);

/// Faulty nodes that jobs should leave out from now on: those that are not left out yet, and no
/// more than leave `tasks` of the plan the nodes that they need.
[[nodiscard]] std::vector<FaultyNode> nodes_to_exclude(const StudyView& view);

}  // namespace slurmtune
