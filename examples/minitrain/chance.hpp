// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace minitrain {

/// Counter-based random bits: a pure function of the key and the index, so that any rank can
/// make any value without the ones before it. Source: Steele, Lea and Flood, "Fast splittable
/// pseudorandom number generators", OOPSLA 2014 (the finaliser of SplitMix64).
[[nodiscard]] constexpr std::uint64_t random_bits(std::uint64_t key, std::uint64_t index) {
  std::uint64_t bits = key + (index + 1) * 0x9E3779B97F4A7C15ULL;
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBULL;
  return bits ^ (bits >> 31U);
}

/// Uniform in [-1, 1), from the upper 24 bits: exact in float32.
[[nodiscard]] constexpr float random_symmetric(std::uint64_t key, std::uint64_t index) {
  const auto upper = static_cast<std::int32_t>(random_bits(key, index) >> 40U);
  return static_cast<float>(upper - (1 << 23)) / static_cast<float>(1 << 23);
}

}  // namespace minitrain
