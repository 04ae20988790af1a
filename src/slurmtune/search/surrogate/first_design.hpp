// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "slurmtune/search/surrogate/fit_model.hpp"
#include "slurmtune/search/surrogate/free_points.hpp"
#include "slurmtune/search/surrogate/known_trials.hpp"
#include "slurmtune/search/surrogate/level_coordinates.hpp"

namespace slurmtune {

/// Where a search begins, and goes on while next to nothing was measured.
struct FirstDesign {
  const SearchProblem& problem;
  const LevelCoordinates& coordinates;
  const KnownTrials& known;
  const FitModel& fits;
  const PointPrior& prior;
};

/// Takes up to `count` free points and adds them to `chosen`. Where roles order points by memory:
/// of a sample those whose outcome, weighed by its probability, settles most of what is open, the
/// likelier to fit and the faster by the prior the better. Else of a sample those that are farthest
/// from all that were tried or chosen (the first: in the middle).
void choose_first(const FirstDesign& design, std::size_t count, FreePoints& free, Random& random,
                  std::vector<std::uint64_t>& chosen);

}  // namespace slurmtune
