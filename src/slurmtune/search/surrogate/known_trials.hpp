// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

#include "slurmtune/search/search_problem.hpp"

namespace slurmtune {

/// The trials of a problem with their levels, in an order that does not depend on that in which
/// they came.
struct KnownTrials {
  struct Known {
    PointTrial trial;
    Levels levels;
  };
  std::vector<Known> measured;  ///< the best first
  std::vector<Known> failed;    ///< by memory or otherwise
  std::vector<Known> pending;

  [[nodiscard]] std::size_t count() const {
    return measured.size() + failed.size() + pending.size();
  }
};

/// Values that are not finite count as failures. At most `most` of each kind: the best half of the
/// measured, else a sample, which is the seed's.
[[nodiscard]] KnownTrials known_trials(const SearchProblem& problem, std::size_t most);

}  // namespace slurmtune
