// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/search/search_problem.hpp"

namespace slurmtune {

/// Points to try next, at most `width`, the most promising first, none that is taken (pending,
/// measured or failed as often as it may be tried). Fewer than `width`, at last none, where fewer
/// are left. Of a preempted trial's point more may be asked for.

/// Uniform over the valid set, without gaps: a Kronecker sequence of the golden ratio over the
/// points' numbers, turned by the seed. Source: Roberts, "The unreasonable effectiveness of
/// quasirandom sequences" (2018); Kuipers and Niederreiter, "Uniform Distribution of Sequences".
[[nodiscard]] std::vector<std::uint64_t> propose_random(const SearchProblem& problem,
                                                        std::size_t width);

/// A surrogate: first trials whose outcome settles most about what fits (spread over the space
/// where roles tell nothing of memory), then those of largest expected improvement, by a Gaussian
/// process over the measured, times the probability that they run; the others of a batch given what
/// is believed of the first. Failures are data of that probability, never values.
[[nodiscard]] std::vector<std::uint64_t> propose_model(const SearchProblem& problem,
                                                       std::size_t width);

/// Strategies over points.
enum class PointStrategy { everything, random, model };
[[nodiscard]] std::string_view to_word(PointStrategy strategy);

/// What `auto` picks, and why in a clause.
struct StrategyChoice {
  PointStrategy strategy = PointStrategy::model;
  std::string reason;
};

/// `everything` where what is left fits into the round; `random` where trials do not vary in
/// anything that a model could learn from (no parameter with two levels); else `model`.
[[nodiscard]] StrategyChoice choose_strategy(const SearchProblem& problem, std::size_t width);

/// Proposals of the strategy that `choose_strategy` picks.
[[nodiscard]] std::vector<std::uint64_t> propose_auto(const SearchProblem& problem,
                                                      std::size_t width);

}  // namespace slurmtune
