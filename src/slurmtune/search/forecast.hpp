// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>

#include "slurmtune/record/interval.hpp"
#include "slurmtune/search/search_context.hpp"

namespace slurmtune {

struct StageFacts;

/// What a configuration may score.
struct Forecast {
  double score = 0.0;
  double deviation = 0.0;  ///< standard deviation of it

  /// What it surpasses only with a chance of one in twenty.
  [[nodiscard]] double upper() const;
};

/// What a micro-batch may score: by the step model, or beyond the largest measured ones by their
/// slope (extrapolated_step), whichever promises less; with one measurement, that of a micro-step
/// no longer than it. Nothing if nothing was measured, or if the objective does not follow step
/// times.
[[nodiscard]] std::optional<Forecast> forecast(const SearchContext& context,
                                               const StageFacts& facts, std::int64_t micro_batch);

/// The same in a comparison with a score that was measured, whose own error is counted in.
[[nodiscard]] double optimistic_score(const Forecast& forecast, const Interval& bar);

}  // namespace slurmtune
