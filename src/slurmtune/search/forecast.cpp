// SPDX-License-Identifier: MIT
#include "slurmtune/search/forecast.hpp"

#include <cmath>

#include "slurmtune/model/estimates.hpp"
#include "slurmtune/model/statistics.hpp"
#include "slurmtune/model/step_model.hpp"
#include "slurmtune/search/stage_facts.hpp"

namespace slurmtune {

namespace {

// One in twenty normal variables lies farther above its mean, in standard deviations.
constexpr double deviations = 1.645;

}  // namespace

double Forecast::upper() const { return score + deviations * deviation; }

std::optional<Forecast> forecast(const SearchContext& context, const StageFacts& facts,
                                 std::int64_t micro_batch) {
  if (facts.step_points.empty() || !context.objective.follows_step_time()) return std::nullopt;
  const auto configuration = configuration_of(context.space, facts.zero_stage, micro_batch);
  if (!configuration) return std::nullopt;
  const std::int64_t accumulation = configuration->integer(accumulation_parameter).value_or(1);
  const auto samples =
      static_cast<double>(micro_batch * accumulation * context.input.spec.data_parallel());
  const auto of_step = [&](const StepForecast& step) {
    const double score = context.objective.score_of_step(step.step_s, samples);
    return Forecast{.score = score, .deviation = score * step.deviation};
  };
  if (!facts.steps) {
    // A micro-step over more samples takes no less time.
    const StepPoint& measured = facts.step_points.back();
    if (measured.micro_batch > micro_batch || measured.step_s <= 0.0) return std::nullopt;
    const double step_s = measured.step_s * static_cast<double>(accumulation) /
                          static_cast<double>(measured.accumulation);
    return of_step({.step_s = step_s, .deviation = measured.deviation});
  }
  const Forecast by_model = of_step({.step_s = facts.steps->step_s(micro_batch, accumulation),
                                     .deviation = facts.steps->spread(micro_batch)});
  const auto beyond = extrapolated_step(facts.step_points, micro_batch, accumulation);
  if (!beyond) return by_model;
  const Forecast by_slope = of_step(*beyond);
  return by_slope.upper() < by_model.upper() ? by_slope : by_model;
}

double optimistic_score(const Forecast& forecast, const Interval& bar) {
  const double error = std::hypot(bar.mid * run_to_run_deviation, deviation_of(bar));
  return forecast.score + deviations * std::hypot(forecast.deviation, error);
}

}  // namespace slurmtune
