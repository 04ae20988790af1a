// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <utility>

#include "slurmtune/search/point_strategies.hpp"
#include "slurmtune/search/surrogate/expected_improvement.hpp"
#include "slurmtune/search/surrogate/first_design.hpp"
#include "slurmtune/search/surrogate/fit_model.hpp"
#include "slurmtune/search/surrogate/free_points.hpp"
#include "slurmtune/search/surrogate/gaussian_process.hpp"
#include "slurmtune/search/surrogate/known_trials.hpp"
#include "slurmtune/search/surrogate/level_coordinates.hpp"
#include "slurmtune/search/surrogate/value_model.hpp"

namespace slurmtune {

namespace {

/// Of each kind of trial; 100,000 cost no more than these.
constexpr std::size_t trials_max = 1000;
/// Points whose expected improvement is computed.
constexpr std::size_t candidates_max = 2000;
/// The best so far, whose neighbours are among them.
constexpr std::size_t centres = 8;
constexpr std::size_t prior_sample = 256;

/// The strategy's own order of chance: other trials, other numbers.
Random random_of(const SearchProblem& problem) {
  return Random(Seed{problem.seed * 0x9e3779b97f4a7c15U + problem.trials.size() * 7919U + 17U});
}

std::unique_ptr<PointPrior> nominal_prior(const SearchProblem& problem) {
  std::vector<Levels> sample;
  const std::uint64_t size = problem.points.size();
  const std::uint64_t count = std::min<std::uint64_t>(size, prior_sample);
  for (std::uint64_t i = 0; i < count; ++i) {
    sample.push_back(problem.points.at(i * (size / count) + i * (size % count) / count));
  }
  return make_point_prior(problem.points.parameters(), nominal_facts(), sample);
}

/// Trials before the model chooses: few in small spaces, where each is a good part of it.
std::size_t first_trials(const SearchProblem& problem) {
  constexpr std::uint64_t usual = 4;
  constexpr std::uint64_t share = 12;
  return std::max<std::uint64_t>(2, std::min(usual, problem.points.size() / share));
}

std::vector<std::uint64_t> candidates_of(const SearchProblem& problem, const KnownTrials& known,
                                         const FreePoints& free, Random& random) {
  if (problem.points.size() <= 4 * candidates_max && free.count() <= candidates_max) {
    return free.all();
  }
  std::set<std::uint64_t> candidates;
  for (std::size_t i = 0; i < std::min(centres, known.measured.size()); ++i) {
    for (const std::uint64_t point : problem.points.neighbours(known.measured[i].trial.point)) {
      if (free.is_free(point)) candidates.insert(point);
    }
  }
  // Samples may be equal.
  for (std::size_t i = 0; i < 2 * candidates_max && candidates.size() < candidates_max; ++i) {
    if (const auto point = free.sample(random)) candidates.insert(*point);
  }
  return {candidates.begin(), candidates.end()};
}

/// Chooses by expected improvement times the probability of running, one after the other.
void choose_by_improvement(const SearchProblem& problem, const FitModel& fits, ValueModel& values,
                           std::vector<std::uint64_t> candidates, std::size_t width,
                           FreePoints& free, std::vector<std::uint64_t>& chosen) {
  std::vector<Levels> levels;
  std::vector<double> log_fits;
  for (const std::uint64_t candidate : candidates) {
    levels.push_back(problem.points.at(candidate));
    log_fits.push_back(std::log(std::max(1e-9, fits.probability(levels.back()))));
  }
  values.look_at(levels);
  while (chosen.size() < width && free.count() > 0) {
    std::size_t best = candidates.size();
    double best_score = -std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      if (!free.is_free(candidates[i])) continue;
      const double score = values.log_expected_improvement(i) + log_fits[i];
      if (score <= best_score) continue;
      best = i;
      best_score = score;
    }
    if (best == candidates.size()) break;
    free.take(candidates[best]);
    chosen.push_back(candidates[best]);
    if (chosen.size() < width) values.believe_measured(best);
  }
}

}  // namespace

std::vector<std::uint64_t> propose_model(const SearchProblem& problem, std::size_t width) {
  FreePoints free(problem);
  std::vector<std::uint64_t> chosen;
  if (width == 0 || free.count() == 0) return chosen;
  if (problem.baseline && free.is_free(*problem.baseline)) {
    free.take(*problem.baseline);
    chosen.push_back(*problem.baseline);
  }
  Random random = random_of(problem);
  const LevelCoordinates coordinates(problem.points.parameters());
  const KnownTrials known = known_trials(problem, trials_max);
  const auto nominal = problem.prior == nullptr ? nominal_prior(problem) : nullptr;
  const PointPrior& prior = problem.prior == nullptr ? *nominal : *problem.prior;
  const FitModel fits(problem, prior, known, coordinates);

  constexpr std::size_t measured_min = 2;
  const std::size_t first = first_trials(problem);
  const bool is_blind = known.measured.size() < measured_min;
  const std::size_t asked = known.count() + chosen.size();
  if (is_blind || asked < first) {
    const std::size_t left = width - chosen.size();
    choose_first({problem, coordinates, known, fits, prior},
                 is_blind ? left : std::min(left, first - asked), free, random, chosen);
  }
  if (chosen.size() < width && !is_blind) {
    ValueModel values(coordinates, prior, known, random);
    for (const std::uint64_t point : chosen) values.believe_measured_at(problem.points.at(point));
    choose_by_improvement(problem, fits, values, candidates_of(problem, known, free, random), width,
                          free, chosen);
  }
  while (chosen.size() < width) {
    const auto point = free.sample(random);
    if (!point) break;
    free.take(*point);
    chosen.push_back(*point);
  }
  return chosen;
}

}  // namespace slurmtune
