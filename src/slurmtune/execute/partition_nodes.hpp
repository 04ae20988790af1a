// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace slurmtune {

/// How many nodes a partition of Slurm has ("" = the default one), whatever state they are in, by
/// one sinfo; nothing where that cannot be told.
[[nodiscard]] std::optional<std::int64_t> nodes_of_partition(const std::string& partition);

/// The same from the output of sinfo --Node --format=%P|%N.
[[nodiscard]] std::optional<std::int64_t> count_nodes(std::string_view output,
                                                      std::string_view partition);

}  // namespace slurmtune
