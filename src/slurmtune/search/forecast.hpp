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

/// What a stage is weighed against: a score that was measured, and where.
struct Bar {
  Interval score;
  std::optional<std::int64_t> zero_stage;
  std::int64_t micro_batch = 0;

  /// The standard deviation of what is known of it, with what runs differ by.
  [[nodiscard]] double deviation() const;
};

/// What a micro-batch promises against the bar.
struct Promise {
  double optimistic =
      0.0;            ///< surpassed with a chance of one in twenty, the bar's error counted in
  double gain = 0.0;  ///< expected improvement, relative to the bar
};

/// Weighs a micro-batch by its forecast. In the bar's own stage the two are compared by the ratio
/// that the models say, free of the error that both share. The gain is E[max(0, score - bar)] / bar
/// of normal variables. Source: Jones, Schonlau and Welch, J. Global Optim. 13 (1998). Nothing if
/// there is no forecast.
[[nodiscard]] std::optional<Promise> promise_of(const SearchContext& context,
                                                const StageFacts& facts, const Bar& bar,
                                                std::int64_t micro_batch);

}  // namespace slurmtune
