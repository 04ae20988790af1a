// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace slurmtune {

/// The nodes of Slurm's notation, in its order: `n[1-3,07],m2` is n1 n2 n3 n07 m2. What is not of
/// that notation is left as it is, as one name.
[[nodiscard]] std::vector<std::string> expand_nodes(std::string_view list);

}  // namespace slurmtune
