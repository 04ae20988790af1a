// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace slurmtune {

/// The seed of everything random in a study.
struct Seed {
  std::uint64_t value = 1;
};

/// A small generator whose sequence is the same on every machine and with every library, unlike
/// the distributions of <random>. Source: Steele, Lea, Flood, "Fast Splittable Pseudorandom Number
/// Generators", OOPSLA 2014 (SplitMix64).
class Random {
 public:
  explicit Random(Seed seed) : state_(seed.value) {}

  /// Uniform over all 64-bit values.
  [[nodiscard]] std::uint64_t next();
  /// Uniform in [0, 1), 53 bits.
  [[nodiscard]] double uniform();
  /// Uniform in [0, bound); bound > 0. Unbiased (rejection).
  [[nodiscard]] std::uint64_t below(std::uint64_t bound);

 private:
  std::uint64_t state_;
};

}  // namespace slurmtune
