// SPDX-License-Identifier: MIT
#include "slurmtune/search/surrogate/fit_model.hpp"

#include <algorithm>

namespace slurmtune {

namespace {

/// What cannot fit if roles that the study gives are true: as good as out, but still something when
/// nothing else is left. By roles that only names suggest.
constexpr double ruled_out = 1e-4;
constexpr double ruled_out_by_names = 0.02;
constexpr double sure_to_fit = 0.98;
/// Of trees' votes, which are all or nothing after a few trials, towards the rate so far.
constexpr double shrink = 0.1;
constexpr std::size_t tree_count = 50;

MemoryOrder order_of(std::span<const LevelParameter> parameters, bool given) {
  return MemoryOrder(parameters, given ? RoleSource::given : RoleSource::given_or_named);
}

}  // namespace

FitModel::FitModel(const SearchProblem& problem, const PointPrior& prior, const KnownTrials& known,
                   const LevelCoordinates& coordinates)
    : coordinates_(coordinates),
      by_prior_(prior.is_informed()),
      order_is_given_(order_of(problem.points.parameters(), true).is_known()),
      order_(order_of(problem.points.parameters(), order_is_given_)) {
  std::vector<PriorTrial> trials;
  bool has_other_failures = false;
  for (const auto& [trial, levels] : known.measured) {
    trials.push_back({levels, PriorOutcome::measured, trial.value});
    knowledge_.add(order_.of(levels), Settled::fits);
  }
  for (const auto& [trial, levels] : known.failed) {
    if (trial.state != TrialState::does_not_fit) {
      has_other_failures = true;
      continue;
    }
    trials.push_back({levels, PriorOutcome::does_not_fit, 0.0});
    knowledge_.add(order_.of(levels), Settled::does_not_fit);
  }
  if (by_prior_) calibrated_ = prior.calibrated(trials);
  if (has_other_failures || (!by_prior_ && !known.failed.empty())) {
    learn_by_trees(known, problem.seed);
  }
}

void FitModel::learn_by_trees(const KnownTrials& known, std::uint64_t seed) {
  constexpr std::size_t samples_max = 400;
  std::vector<RandomTrees::Features> features;
  std::vector<double> targets;
  const auto add = [&](const std::vector<KnownTrials::Known>& trials, double target) {
    const std::size_t stride = trials.size() / samples_max + 1;
    for (std::size_t i = 0; i < trials.size(); i += stride) {
      // Memory is the prior's.
      if (by_prior_ && trials[i].trial.state == TrialState::does_not_fit) continue;
      features.push_back(coordinates_.features(trials[i].levels));
      targets.push_back(target);
    }
  };
  add(known.measured, 1.0);
  add(known.failed, 0.0);
  const auto ran = static_cast<double>(std::ranges::count(targets, 1.0));
  base_rate_ = (ran + 1.0) / (static_cast<double>(targets.size()) + 2.0);
  Random chance(Seed{seed ^ 0x66697473U});
  trees_.fit(features, targets, tree_count, chance);
  by_trees_ = true;
}

double FitModel::probability(std::span<const std::int32_t> levels) const {
  double probability = 1.0;
  if (by_prior_) {
    probability = calibrated_->of(levels).fits;
    switch (knowledge_.of(order_.of(levels))) {
      case Settled::fits: probability = std::max(probability, sure_to_fit); break;
      case Settled::does_not_fit:
        probability = std::min(probability, order_is_given_ ? ruled_out : ruled_out_by_names);
        break;
      case Settled::open: break;
    }
  }
  if (by_trees_) {
    probability *=
        (1.0 - shrink) * trees_.predict(coordinates_.features(levels)) + shrink * base_rate_;
  }
  return probability;
}

}  // namespace slurmtune
