// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

#include "slurmtune/base/instant.hpp"

namespace slurmtune {

/// The time of day on this node.
[[nodiscard]] inline Instant wall_clock() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

}  // namespace slurmtune
