// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "slurmtune/space/level_problem.hpp"
#include "slurmtune/space/space.hpp"
#include "slurmtune/space/valid_set.hpp"

namespace slurmtune {

/// What a space demands, where it stands and what it says: a constraint, or the batch rule.
struct Demand {
  std::string where;  ///< `study.toml:40`
  std::string text;

  bool operator==(const Demand&) const = default;
};

/// The constraints in the order of the study, then the batch rule where it refuses a micro-batch.
[[nodiscard]] std::vector<Demand> demands_of(const Space& space);

/// A space in levels, with those of its demands that are chosen; `chosen` is as long as demands_of.
/// Without the batch rule, micro-batches that it refuses have no accumulation. `parameters` are the
/// space's, and must outlive the problem, as must the space.
[[nodiscard]] LevelProblem level_problem(const Space& space,
                                         const std::vector<LevelParameter>& parameters,
                                         const std::vector<bool>& chosen);

/// How many combinations are valid; rounded from 2^53 on. Errors: those of build_diagram.
[[nodiscard]] Expected<double> count_valid(const LevelProblem& problem);

}  // namespace slurmtune
