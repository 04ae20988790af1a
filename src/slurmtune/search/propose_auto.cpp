// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/core.h>

#include "slurmtune/model/layout/roles.hpp"
#include "slurmtune/search/point_strategies.hpp"
#include "slurmtune/search/surrogate/free_points.hpp"

namespace slurmtune {

namespace {

/// What the model has to go by, in words.
std::string learned_from(const SearchProblem& problem) {
  const auto roles = roled_parameters(problem.points.parameters(), RoleSource::given_or_named);
  const auto with_role = std::ranges::count_if(
      roles, [](const RoledParameter& parameter) { return parameter.role != LayoutRole::none; });
  if (with_role == 0) return "no parameter has a role: it learns from trials alone";
  return fmt::format("{} of {} parameters have roles, which tell what fits and what is fast",
                     with_role, roles.size());
}

}  // namespace

std::string_view to_word(PointStrategy strategy) {
  switch (strategy) {
    case PointStrategy::everything: return "grid";
    case PointStrategy::random: return "random";
    case PointStrategy::model: return "model";
  }
  return "";
}

StrategyChoice choose_strategy(const SearchProblem& problem, std::size_t width) {
  const std::uint64_t left = FreePoints(problem).count();
  if (left <= width) {
    return {PointStrategy::everything,
            fmt::format("all {} configurations that are left fit into a round", left)};
  }
  const auto varies = [](const LevelParameter& parameter) { return parameter.levels.size() > 1; };
  if (std::ranges::none_of(problem.points.parameters(), varies)) {
    return {PointStrategy::random, "no parameter has two values to learn from"};
  }
  return {PointStrategy::model,
          fmt::format("{} configurations are left; {}", left, learned_from(problem))};
}

std::vector<std::uint64_t> propose_auto(const SearchProblem& problem, std::size_t width) {
  return choose_strategy(problem, width).strategy == PointStrategy::random
             ? propose_random(problem, width)
             : propose_model(problem, width);
}

}  // namespace slurmtune
