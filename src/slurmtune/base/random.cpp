// SPDX-License-Identifier: MIT
#include "slurmtune/base/random.hpp"

#include "slurmtune/base/error.hpp"

namespace slurmtune {

std::uint64_t Random::next() {
  state_ += 0x9e3779b97f4a7c15ULL;
  std::uint64_t z = state_;
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31U);
}

double Random::uniform() { return static_cast<double>(next() >> 11U) * 0x1.0p-53; }

std::uint64_t Random::below(std::uint64_t bound) {
  SLURMTUNE_ASSERT(bound > 0);
  const std::uint64_t reject_from = UINT64_MAX - UINT64_MAX % bound;
  for (;;) {  // ends: at least half of all draws are accepted
    const std::uint64_t draw = next();
    if (draw < reject_from) return draw % bound;
  }
}

}  // namespace slurmtune
