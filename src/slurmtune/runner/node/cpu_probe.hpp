// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstddef>
#include <string>

#include "slurmtune/record/node.hpp"
#include "slurmtune/runner/node/node_facts.hpp"

namespace slurmtune {

/// How thorough a measurement is.
struct CpuProbe {
  std::chrono::duration<double> each{1.0};   ///< time of each figure
  std::size_t array_bytes_max = 64U << 20U;  ///< of each of a thread's three arrays
};

/// Measures memory_bytes_per_s, fp32_flops and fp64_flops with one thread on each core that this
/// process may use.
/// Memory: the triad a = b + s c over arrays of four times the thread's share of the last-level
/// cache, within array_bytes_max, 24 bytes an element as STREAM counts them (no write-allocate).
/// Source: McCalpin, "STREAM". Matrices: MatrixKernel. The rates of the threads are added up.
void measure_cpu(NodeFigures& figures, const CpuProbe& probe);

/// What an array task says of its node at its start, in under 2 s (on a node that has nothing else
/// to do): facts, and figures of the processor. A GPU is left alone: its figures need a context,
/// which would stay in its memory.
[[nodiscard]] NodeRecord probe_for_task(const std::string& node, const Environment& environment,
                                        const FactSources& sources = {});

}  // namespace slurmtune
