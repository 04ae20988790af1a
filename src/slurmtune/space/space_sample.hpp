// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "slurmtune/base/random.hpp"
#include "slurmtune/space/space.hpp"

namespace slurmtune {

/// Different valid configurations, drawn uniformly from all, in the order of drawing; fewer than
/// `count` only if there are no more, or none other is found in many tries. A small space is
/// listed and shuffled. A large one is not: each parameter is drawn by itself and the whole is
/// kept if it is valid, one without a conditional parameter as often as one value of it would be.
/// Real ranges, and integer ranges with scale = "log", are drawn evenly on their scale.
[[nodiscard]] std::vector<Configuration> sample_space(const Space& space, std::size_t count,
                                                      Seed seed);

}  // namespace slurmtune
