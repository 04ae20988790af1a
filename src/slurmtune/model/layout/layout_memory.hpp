// SPDX-License-Identifier: MIT
#pragma once

#include "slurmtune/model/layout/training_layout.hpp"
#include "slurmtune/model/memory/peak.hpp"

namespace slurmtune {

/// The fullest GPU of a layout: peak_memory (its sources in memory/), and what that does not know:
/// experts are divided among the ranks of expert parallelism, their optimizer's states among all
/// that hold them; interleaved schedules hold 1 + (p - 1) / (p v) of the activations (Korthikanti
/// et al., arXiv:2205.05198, section 4.2.3); stages of a pipeline take whole layers, its ends the
/// embeddings; the loss is a fused one (Megatron-LM, core/tensor_parallel/cross_entropy.py).
[[nodiscard]] MemoryBreakdown layout_memory(const LayoutFacts& facts, const TrainingLayout& layout);

/// How far what a layout takes may be from layout_memory, as a standard deviation of its logarithm:
/// trainers differ in what they keep in 32 bits, in kernels and buffers. Of peaks that were
/// measured with a known setup the model misses by 0.1 (docs/user/memory-model.md); of sweeps whose
/// setup is half known one good row in six lies above a GPU's memory.
inline constexpr double layout_memory_deviation = 0.3;

/// The probability that a layout that takes `bytes` fits into `capacity`, of which the allocator
/// and what lies outside of it leave 95 %. Log-normal.
[[nodiscard]] double layout_fits(double bytes, double capacity,
                                 double deviation = layout_memory_deviation);

}  // namespace slurmtune
