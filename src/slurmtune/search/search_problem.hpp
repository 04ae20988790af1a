// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "slurmtune/model/point_prior.hpp"
#include "slurmtune/space/valid_set.hpp"

namespace slurmtune {

/// What is known of an experiment that was asked for.
enum class TrialState {
  pending,       ///< asked for, no verdict yet: not proposed again, its value is believed
  measured,      ///< has a value
  does_not_fit,  ///< out of GPU memory: what order knowledge builds on
  failed,        ///< anything else that its configuration may be the cause of
  preempted,     ///< cut off: says nothing, and may be proposed again
};

/// An experiment with a point (model/history.hpp has those with a configuration).
struct PointTrial {
  std::uint64_t point = 0;  ///< its number in the valid set
  TrialState state = TrialState::pending;
  double value = 0.0;  ///< larger is better; counts only if measured
};

/// What a strategy over a finite set of points sees. Strategies are pure: equal problems (the order
/// of trials among it does not matter) give equal proposals.
struct SearchProblem {
  const ValidSet& points;
  std::span<const PointTrial> trials = {};
  std::uint64_t seed = 1;
  /// What is known of the space beforehand, of none of its trials; null = what the parameters'
  /// roles say by nominal facts.
  const PointPrior* prior = nullptr;
  /// Tried first, if given.
  std::optional<std::uint64_t> baseline = std::nullopt;
  /// How often each point may be tried, by its number; empty = each once. Tables of measurements
  /// have rows that look equal and differ in what was not recorded: each is a trial of its own.
  std::span<const std::uint32_t> copies = {};
};

}  // namespace slurmtune
