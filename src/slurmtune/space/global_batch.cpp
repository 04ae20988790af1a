// SPDX-License-Identifier: MIT
#include "slurmtune/space/global_batch.hpp"

#include <algorithm>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

namespace {

/// Micro-batches that are thrice as large differ in speed where the smaller fills the GPU, and
/// closer ones would cost small limits much: 5 would have to become 4, and 11, 8.
constexpr std::int64_t factor = 3;

}  // namespace

bool has_close_divisors(std::int64_t samples, std::int64_t cap) {
  SLURMTUNE_ASSERT(samples >= 1 && cap >= 1);
  const std::int64_t last = std::min(samples, cap);
  std::int64_t divisor = 1;
  for (std::int64_t next = 2; next <= last; ++next) {
    if (next > factor * divisor) return false;
    if (samples % next == 0) divisor = next;
  }
  return true;
}

std::int64_t largest_with_close_divisors(std::int64_t most, std::int64_t cap) {
  // There is one soon: every number has a power of two between its half and itself.
  std::int64_t samples = most;
  while (!has_close_divisors(samples, cap)) --samples;
  return samples;
}

}  // namespace slurmtune
