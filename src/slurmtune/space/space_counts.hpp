// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/space/space.hpp"
#include "slurmtune/space/space_rules.hpp"

namespace slurmtune {

/// What a constraint, or the batch rule, does to a space. Nothing where memory does not hold what
/// the others would leave.
struct DemandEffect {
  Demand demand;
  std::optional<double> removed_share;  ///< of all combinations, if it stood alone
  std::optional<double> removed_alone;  ///< how many only it removes: valid but for it
};

/// Counts of a space. Exact below 2^53, else rounded.
struct SpaceCounts {
  double combinations = 0.0;  ///< of all levels, conditions and derived levels aside
  double applicable = 0.0;    ///< those that differ in what is there: conditions hold, no demand
  double valid = 0.0;
  std::vector<DemandEffect> effects;  ///< in the order of demands_of
  /// Demands that leave nothing together, while any of them less would leave something; empty if
  /// something is valid.
  std::vector<Demand> conflict;
};

/// Errors: those of make_valid_set, for what all demands leave.
[[nodiscard]] Expected<SpaceCounts> count_space(const Space& space);

/// What is said of a space of which nothing is left, from its conflict: invalid_input,
/// `study.toml:40: …`, names each demand of it with its line.
[[nodiscard]] Error nothing_valid(const Space& space, const std::vector<Demand>& conflict);

}  // namespace slurmtune
