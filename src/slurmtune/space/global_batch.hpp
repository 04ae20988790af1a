// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace slurmtune {

/// Whether the divisors of `samples` (of one rank and step) up to `cap` are at most a factor 3
/// apart, so that some micro-batch that divides it lies close below whatever fits. Powers of two
/// are so, 127 is not: it leaves 1 and 127. `samples` and `cap` >= 1.
[[nodiscard]] bool has_close_divisors(std::int64_t samples, std::int64_t cap);

/// The largest number up to `most` >= 1 of which that is true (1 is one).
[[nodiscard]] std::int64_t largest_with_close_divisors(std::int64_t most, std::int64_t cap);

}  // namespace slurmtune
