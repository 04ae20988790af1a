// SPDX-License-Identifier: MIT
#include "slurmtune/search/surrogate/free_points.hpp"

namespace slurmtune {

FreePoints::FreePoints(const SearchProblem& problem) : problem_(problem) {
  free_ = problem.points.size();
  for (std::uint64_t point = 0; point < problem.copies.size() && point < free_; ++point) {
    if (problem.copies[point] == 0) take(point);
  }
  for (const PointTrial& trial : problem.trials) {
    if (trial.state != TrialState::preempted) take(trial.point);
  }
}

std::uint32_t FreePoints::copies_of(std::uint64_t point) const {
  return problem_.copies.empty() ? 1 : problem_.copies[point];
}

bool FreePoints::is_free(std::uint64_t point) const {
  const auto found = taken_.find(point);
  return found == taken_.end() || found->second < copies_of(point);
}

void FreePoints::take(std::uint64_t point) {
  const bool was_free = is_free(point);
  ++taken_[point];
  if (was_free && !is_free(point)) --free_;
}

std::optional<std::uint64_t> FreePoints::next_from(std::uint64_t point) const {
  if (free_ == 0) return std::nullopt;
  const std::uint64_t size = problem_.points.size();
  while (!is_free(point)) point = point + 1 == size ? 0 : point + 1;
  return point;
}

std::optional<std::uint64_t> FreePoints::sample(Random& random) const {
  if (free_ == 0) return std::nullopt;
  // Where much is taken, runs of taken points would make their next one likelier.
  constexpr int attempts = 32;
  for (int attempt = 0; attempt < attempts; ++attempt) {
    const std::uint64_t point = random.below(problem_.points.size());
    if (is_free(point)) return point;
  }
  return next_from(random.below(problem_.points.size()));
}

std::vector<std::uint64_t> FreePoints::all() const {
  std::vector<std::uint64_t> points;
  points.reserve(free_);
  for (std::uint64_t point = 0; point < problem_.points.size(); ++point) {
    if (is_free(point)) points.push_back(point);
  }
  return points;
}

}  // namespace slurmtune
