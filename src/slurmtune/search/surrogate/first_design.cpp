// SPDX-License-Identifier: MIT
#include "slurmtune/search/surrogate/first_design.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <set>

namespace slurmtune {

namespace {

constexpr std::size_t settling_sample = 100;
constexpr int spreading_sample = 40;
/// A point's own measurement counts, besides what it settles of others.
constexpr double own_weight = 0.5;

struct Settler {
  std::uint64_t point = 0;
  SettlingPoint settling;
  double faster = 0.0;  ///< log value by the prior, less the sample's mean
};

std::vector<Settler> sample_settlers(const FirstDesign& design, const FreePoints& free,
                                     Random& random) {
  std::set<std::uint64_t> sample;
  for (std::size_t i = 0; i < settling_sample; ++i) {
    if (const auto point = free.sample(random)) sample.insert(*point);
  }
  std::vector<Settler> settlers;
  double mean = 0.0;
  for (const std::uint64_t point : sample) {
    const Levels levels = design.problem.points.at(point);
    Settler settler{point, {design.fits.demand(levels), design.fits.probability(levels), 1.0}, 0.0};
    settler.faster = design.prior.of(levels).log_value;
    mean += settler.faster / static_cast<double>(sample.size());
    settlers.push_back(std::move(settler));
  }
  for (Settler& settler : settlers) settler.faster -= mean;
  return settlers;
}

void choose_settlers(const FirstDesign& design, std::size_t count, FreePoints& free, Random& random,
                     std::vector<std::uint64_t>& chosen) {
  std::vector<Settler> settlers = sample_settlers(design, free, random);
  std::vector<SettlingPoint> candidates;
  std::vector<SettlingPoint> open;
  for (const Settler& settler : settlers) {
    candidates.push_back(settler.settling);
    if (design.fits.settled(settler.settling.demand) == Settled::open) {
      open.push_back(settler.settling);
    }
  }
  std::vector<double> scores = settling_scores(candidates, open);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    scores[i] = (scores[i] + own_weight) * candidates[i].fits * std::exp(settlers[i].faster);
  }
  for (; count > 0 && !settlers.empty(); --count) {
    const auto best = static_cast<std::size_t>(std::ranges::max_element(scores) - scores.begin());
    if (scores[best] < 0.0) break;
    free.take(settlers[best].point);
    chosen.push_back(settlers[best].point);
    scores[best] = -1.0;
    // What is compared with it will be settled in part.
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const bool related =
          compare(candidates[i].demand, candidates[best].demand) != MemoryComparison::unrelated;
      if (related) scores[i] *= 0.5;
    }
  }
}

void choose_spread(const FirstDesign& design, std::size_t count, FreePoints& free, Random& random,
                   std::vector<std::uint64_t>& chosen) {
  std::vector<std::vector<std::uint16_t>> there;
  for (const auto* trials : {&design.known.measured, &design.known.failed, &design.known.pending}) {
    for (const auto& [trial, levels] : *trials) {
      there.push_back(design.coordinates.bins_of(levels));
    }
  }
  for (const std::uint64_t point : chosen) {
    there.push_back(design.coordinates.bins_of(design.problem.points.at(point)));
  }
  for (; count > 0; --count) {
    std::optional<std::uint64_t> best;
    double best_score = -std::numeric_limits<double>::infinity();
    for (int i = 0; i < spreading_sample; ++i) {
      const auto point = free.sample(random);
      if (!point) return;
      const auto bins = design.coordinates.bins_of(design.problem.points.at(*point));
      double score = there.empty() ? -design.coordinates.from_middle2(bins)
                                   : std::numeric_limits<double>::infinity();
      for (const auto& other : there) {
        score = std::min(score, design.coordinates.distance2(bins, other));
      }
      if (best && score <= best_score) continue;
      best = point;
      best_score = score;
    }
    free.take(*best);
    chosen.push_back(*best);
    there.push_back(design.coordinates.bins_of(design.problem.points.at(*best)));
  }
}

}  // namespace

void choose_first(const FirstDesign& design, std::size_t count, FreePoints& free, Random& random,
                  std::vector<std::uint64_t>& chosen) {
  const std::size_t wanted = chosen.size() + count;
  if (design.fits.has_order()) choose_settlers(design, count, free, random, chosen);
  if (chosen.size() < wanted) {
    choose_spread(design, wanted - chosen.size(), free, random, chosen);
  }
}

}  // namespace slurmtune
