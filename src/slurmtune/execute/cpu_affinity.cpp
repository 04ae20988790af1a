// SPDX-License-Identifier: MIT
#include "slurmtune/execute/cpu_affinity.hpp"

#include <algorithm>
#include <climits>
#include <cstddef>

#include <sched.h>

namespace slurmtune {

namespace {

constexpr std::size_t word_bits = sizeof(unsigned long) * CHAR_BIT;

/// A cpu_set_t is an array of unsigned long, and the system takes longer ones.
cpu_set_t* as_set(unsigned long* words) { return reinterpret_cast<cpu_set_t*>(words); }  // NOLINT
const cpu_set_t* as_set(const unsigned long* words) {
  return reinterpret_cast<const cpu_set_t*>(words);  // NOLINT
}

}  // namespace

std::vector<int> allowed_cpus() {
  // The system refuses a set that is too short for the node; a node may have more CPUs than
  // cpu_set_t holds.
  constexpr std::size_t cpus_max = std::size_t{64} * CPU_SETSIZE;
  for (std::size_t room = CPU_SETSIZE; room <= cpus_max; room *= 2) {
    std::vector<unsigned long> words(room / word_bits, 0UL);
    if (::sched_getaffinity(0, words.size() * sizeof(unsigned long), as_set(words.data())) != 0) {
      continue;
    }
    std::vector<int> cpus;
    for (std::size_t cpu = 0; cpu < room; ++cpu) {
      if ((words[cpu / word_bits] >> (cpu % word_bits) & 1UL) != 0) {
        cpus.push_back(static_cast<int>(cpu));
      }
    }
    return cpus;
  }
  return {};
}

CpuSet::CpuSet(std::span<const int> cpus) {
  const int last = cpus.empty() ? 0 : *std::max_element(cpus.begin(), cpus.end());
  words_.resize(static_cast<std::size_t>(last) / word_bits + 1, 0UL);
  for (const int cpu : cpus) {
    const auto bit = static_cast<std::size_t>(cpu);
    words_[bit / word_bits] |= 1UL << (bit % word_bits);
  }
}

bool CpuSet::apply() const {
  return ::sched_setaffinity(0, words_.size() * sizeof(unsigned long), as_set(words_.data())) == 0;
}

}  // namespace slurmtune
