// SPDX-License-Identifier: MIT
#include "slurmtune/search/surrogate/known_trials.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "slurmtune/base/random.hpp"

namespace slurmtune {

namespace {

/// Keeps the first `kept` and a sample of the others, `most` in all, in their order.
void thin(std::vector<PointTrial>& trials, std::size_t kept, std::size_t most, Random& random) {
  if (trials.size() <= most) return;
  std::size_t wanted = most - kept;
  std::size_t at = kept;
  for (std::size_t i = kept; i < trials.size() && wanted > 0; ++i) {
    if (random.below(trials.size() - i) >= wanted) continue;
    trials[at++] = trials[i];
    --wanted;
  }
  trials.resize(at);
}

std::vector<KnownTrials::Known> with_levels(const ValidSet& points,
                                            const std::vector<PointTrial>& trials) {
  std::vector<KnownTrials::Known> known;
  known.reserve(trials.size());
  for (const PointTrial& trial : trials) known.push_back({trial, points.at(trial.point)});
  return known;
}

}  // namespace

KnownTrials known_trials(const SearchProblem& problem, std::size_t most) {
  std::vector<PointTrial> measured;
  std::vector<PointTrial> failed;
  std::vector<PointTrial> pending;
  for (PointTrial trial : problem.trials) {
    if (trial.state == TrialState::measured && !std::isfinite(trial.value)) {
      trial.state = TrialState::failed;
    }
    switch (trial.state) {
      case TrialState::measured: measured.push_back(trial); break;
      case TrialState::does_not_fit:
      case TrialState::failed: failed.push_back(trial); break;
      case TrialState::pending: pending.push_back(trial); break;
      case TrialState::preempted: break;
    }
  }
  std::ranges::sort(measured, [](const PointTrial& one, const PointTrial& other) {
    return one.value != other.value ? one.value > other.value : one.point < other.point;
  });
  const auto by_point = [](const PointTrial& one, const PointTrial& other) {
    return std::pair(one.point, one.state) < std::pair(other.point, other.state);
  };
  std::ranges::sort(failed, by_point);
  std::ranges::sort(pending, by_point);

  Random chance(Seed{problem.seed ^ 0x7468696eU});
  thin(measured, most / 2, most, chance);
  thin(failed, 0, most, chance);
  thin(pending, 0, most, chance);
  return {with_levels(problem.points, measured), with_levels(problem.points, failed),
          with_levels(problem.points, pending)};
}

}  // namespace slurmtune
