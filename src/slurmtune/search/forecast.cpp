// SPDX-License-Identifier: MIT
#include "slurmtune/search/forecast.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

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

double Bar::deviation() const {
  return std::hypot(score.mid * run_to_run_deviation, deviation_of(score));
}

std::optional<Promise> promise_of(const SearchContext& context, const StageFacts& facts,
                                  const Bar& bar, std::int64_t micro_batch) {
  const auto expected = forecast(context, facts, micro_batch);
  if (!expected) return std::nullopt;
  double score = expected->score;
  double error = std::hypot(expected->deviation, bar.deviation());
  const bool is_own = bar.zero_stage == facts.zero_stage && bar.micro_batch < micro_batch;
  const auto at_bar =
      is_own && facts.steps ? forecast(context, facts, bar.micro_batch) : std::optional<Forecast>();
  if (at_bar && at_bar->score > 0.0) {
    score = bar.score.mid * expected->score / at_bar->score;
    error = score * facts.steps->spread_between(micro_batch, bar.micro_batch);
  }
  const double above = score - bar.score.mid;
  double gain = std::max(0.0, above);
  if (error > 0.0) {
    const double z = above / error;
    const double density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
    gain = above * normal_cdf(z) + error * density;
  }
  return Promise{.optimistic = score + deviations * error, .gain = gain / bar.score.mid};
}

}  // namespace slurmtune
