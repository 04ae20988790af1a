// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "slurmtune/search/point_strategies.hpp"

// Made-up surfaces, and studies of one strategy on them.
namespace slurmtune::tests {

inline LevelParameter numbers(std::string name, std::vector<std::int64_t> levels,
                              std::string role = "") {
  LevelParameter parameter;
  parameter.name = std::move(name);
  parameter.role = std::move(role);
  for (const std::int64_t level : levels) parameter.levels.emplace_back(level);
  return parameter;
}

inline LevelParameter words(std::string name, std::vector<std::string> levels,
                            std::string role = "") {
  LevelParameter parameter;
  parameter.name = std::move(name);
  parameter.role = std::move(role);
  parameter.type = ParameterType::categorical;
  for (std::string& level : levels) parameter.levels.emplace_back(std::move(level));
  return parameter;
}

/// Every combination.
inline ValidSet product_of(const std::vector<LevelParameter>& parameters) {
  std::vector<Levels> rows{Levels{}};
  for (const LevelParameter& parameter : parameters) {
    std::vector<Levels> longer;
    for (const Levels& row : rows) {
      for (std::size_t level = 0; level < parameter.levels.size(); ++level) {
        longer.push_back(row);
        longer.back().push_back(static_cast<std::int32_t>(level));
      }
    }
    rows = std::move(longer);
  }
  return valid_set_of_rows(parameters, std::move(rows));
}

using Strategy = std::function<std::vector<std::uint64_t>(const SearchProblem&, std::size_t width)>;
/// What a trial of a point comes to.
using Surface = std::function<PointTrial(std::uint64_t point, const Levels& levels)>;

/// Trials in the order in which they were asked for, until `stop` or nothing is left.
inline std::vector<PointTrial> search(const ValidSet& points, const Strategy& strategy,
                                      const Surface& surface, std::size_t width, std::uint64_t seed,
                                      const std::function<bool(const PointTrial&)>& stop) {
  std::vector<PointTrial> trials;
  for (;;) {
    const auto chosen = strategy({.points = points, .trials = trials, .seed = seed}, width);
    if (chosen.empty()) return trials;
    for (const std::uint64_t point : chosen) {
      trials.push_back(surface(point, points.at(point)));
      if (stop(trials.back())) return trials;
    }
  }
}

inline bool never(const PointTrial& /*trial*/) { return false; }

}  // namespace slurmtune::tests
