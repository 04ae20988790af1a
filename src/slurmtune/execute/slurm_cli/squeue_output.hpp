// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>
#include <vector>

#include "slurmtune/study/scheduler.hpp"

namespace slurmtune {

/// squeue's --format for parse_squeue: job (of an array, that of all its tasks), index, state,
/// reason, nodes, name. The name is last since it alone may hold any character.
inline constexpr std::string_view squeue_format = "%F|%K|%T|%r|%N|%j";

/// The jobs in squeue's output, in its order. Lines that are not of the format (a banner of the
/// site, a cluster's headline) are skipped; a state that is not known is JobState::unknown.
[[nodiscard]] std::vector<JobReport> parse_squeue(std::string_view output);

}  // namespace slurmtune
