// SPDX-License-Identifier: MIT
#include "slurmtune/search/boundary.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace slurmtune {

namespace {

constexpr double model_weight = 0.9;

}  // namespace

Boundary::Boundary(const Evidence& evidence, FitModel model)
    : evidence_(evidence), model_(std::move(model)) {}

double Boundary::prior(std::int64_t micro_batch) const {
  // Half the smallest: that the smallest itself fits is likely, not certain.
  const double tail =
      std::sqrt(0.5 * static_cast<double>(evidence_.smallest) / static_cast<double>(micro_batch));
  if (!model_) return std::min(tail, 1.0);
  return model_weight * model_(micro_batch) + (1.0 - model_weight) * std::min(tail, 1.0);
}

double Boundary::survival(std::int64_t micro_batch) const {
  if (evidence_.fits && micro_batch <= *evidence_.fits) return 1.0;
  if (evidence_.fails && micro_batch >= *evidence_.fails) return 0.0;
  const double top = evidence_.fits ? prior(*evidence_.fits) : 1.0;
  const double bottom = evidence_.fails ? prior(*evidence_.fails) : 0.0;
  if (top - bottom <= 0.0) return 0.5;
  return std::clamp((prior(micro_batch) - bottom) / (top - bottom), 0.0, 1.0);
}

std::vector<std::int64_t> Boundary::probes(std::span<const std::int64_t> candidates,
                                           std::size_t count) const {
  std::set<std::int64_t> chosen;
  if (candidates.empty()) return {};
  for (std::size_t i = 1; i <= count; ++i) {
    const double quantile = static_cast<double>(i) / static_cast<double>(count + 1);
    std::int64_t best = candidates.front();
    double best_distance = INFINITY;
    for (const std::int64_t candidate : candidates) {
      const double below = 1.0 - survival(candidate);  // P(B < candidate)
      const double distance = std::abs(below - quantile);
      // Of equals below the quantile the largest asks most, of equals above it the smallest.
      const bool better = below < quantile ? distance <= best_distance : distance < best_distance;
      if (!better) continue;
      best = candidate;
      best_distance = distance;
    }
    chosen.insert(best);
  }
  return {chosen.begin(), chosen.end()};
}

}  // namespace slurmtune
