// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "memory.hpp"
#include "options.hpp"
#include "ranks.hpp"

namespace minitrain {

/// Whether this step's loss is to be spoilt, which only the trainer can do.
enum class Spoil { nothing, loss };

/// At the start of a step: does what the plan says if this is its step and its rank. It does not
/// return from a crash, a hang or an exit, and throws OutOfMemoryError for oom.
[[nodiscard]] Spoil inject_fault(const FaultPlan& plan, std::uint64_t step, const Ranks& ranks,
                                 DeviceMemory& memory);

/// Sleeps if this rank is to be slow.
void delay_step(const StepDelay& delay, const Ranks& ranks);

}  // namespace minitrain
