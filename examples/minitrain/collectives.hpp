// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

#include "device.hpp"
#include "ranks.hpp"

namespace minitrain {

// MPI's collectives on a device's memory; what the host cannot reach is staged through it.
// Elements are float32, at most 2^31 - 1 of them.

/// Sums `values` over the ranks, in place.
void sum_over_ranks(Device& device, const Ranks& ranks, std::span<float> values);

/// Sums `values`, a section of equal length a rank, over the ranks; this rank's section of the sum
/// then begins `values`.
void sum_own_section(Device& device, const Ranks& ranks, std::span<float> values);

/// `values` has a section of equal length a rank; fills in the others' from them.
void gather_sections(Device& device, const Ranks& ranks, std::span<float> values);

/// Gathers `own` of every rank into `whole`, that of rank r at `first + r * stride`.
struct Places {
  std::size_t first;
  std::size_t stride;
};
void gather_into(Device& device, const Ranks& ranks, std::span<const float> own, Places places,
                 float* whole);

}  // namespace minitrain
