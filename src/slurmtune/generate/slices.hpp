// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "slurmtune/record/manifest.hpp"

namespace slurmtune {

/// What the array tasks of a stage may be.
struct SliceLimits {
  std::int64_t tasks_max = 1;
  std::int64_t per_task = 1;           ///< experiments that surely end within a task
  std::int64_t task_node_seconds = 1;  ///< of one task, at its limit
  std::optional<std::int64_t> node_seconds_cap = std::nullopt;  ///< of the stage
};

/// How experiments are dealt out.
enum class Dealing {
  evenly,     ///< as few tasks as hold them, nearly equal in number
  by_repeat,  ///< one task a repeat, so that repeats see different nodes; evenly if that is too
              ///< many
};

/// Cuts the experiments of a manifest into consecutive slices. What exceeds a limit is dropped from
/// the end; whatever is left is in exactly one slice.
void cut_slices(Manifest& manifest, const SliceLimits& limits, Dealing dealing);

}  // namespace slurmtune
