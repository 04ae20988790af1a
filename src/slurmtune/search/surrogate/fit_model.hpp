// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "slurmtune/model/order_knowledge.hpp"
#include "slurmtune/model/point_prior.hpp"
#include "slurmtune/search/surrogate/known_trials.hpp"
#include "slurmtune/search/surrogate/level_coordinates.hpp"
#include "slurmtune/search/surrogate/random_trees.hpp"

namespace slurmtune {

/// The probability that a point runs to its measurement, by what ran and what failed. Memory: by
/// the prior where it is informed, corrected by the trials; what order knowledge says cannot fit is
/// as good as out. Other failures, and all where roles say nothing: by the votes of random trees.
class FitModel {
 public:
  /// `prior`, `coordinates` and `known` must live as long as this.
  FitModel(const SearchProblem& problem, const PointPrior& prior, const KnownTrials& known,
           const LevelCoordinates& coordinates);

  [[nodiscard]] double probability(std::span<const std::int32_t> levels) const;

  /// Whether order knowledge compares points at all.
  [[nodiscard]] bool has_order() const { return order_.is_known(); }
  [[nodiscard]] MemoryDemand demand(std::span<const std::int32_t> levels) const {
    return order_.of(levels);
  }
  /// Whether a point's memory is settled: what asks for more failed, or for less fitted.
  [[nodiscard]] Settled settled(const MemoryDemand& demand) const { return knowledge_.of(demand); }

 private:
  void learn_by_trees(const KnownTrials& known, std::uint64_t seed);

  const LevelCoordinates& coordinates_;
  bool by_prior_ = false;
  bool order_is_given_ = false;  ///< not guessed from names
  MemoryOrder order_;
  OrderKnowledge knowledge_;
  std::unique_ptr<PointPrior> calibrated_;
  RandomTrees trees_;
  bool by_trees_ = false;
  double base_rate_ = 1.0;
};

}  // namespace slurmtune
