// SPDX-License-Identifier: MIT
#include "slurmtune/model/step_model.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>

namespace slurmtune {

namespace {

// How far a step time lies from the law before anything is known about the program, and how many
// measurements this belief is worth.
constexpr double prior_deviation = 0.02;
constexpr double prior_weight = 2.0;
// What each doubling away from a measurement adds to the spread, in deviations.
constexpr double a_doubling = 0.5;

/// t / accumulation = fixed + per_sample * micro_batch, weighted by 1 / t^2.
struct Sums {
  double w = 0.0;
  double wx = 0.0;
  double wxx = 0.0;
  double wy = 0.0;
  double wxy = 0.0;
};

bool is_usable(const StepPoint& point) {
  return point.step_s > 0.0 && std::isfinite(point.step_s) && point.accumulation > 0;
}

}  // namespace

std::optional<StepModel> StepModel::fit(std::span<const StepPoint> points) {
  Sums sums;
  StepModel model;
  for (const StepPoint& point : points) {
    if (!is_usable(point)) continue;
    const auto x = static_cast<double>(point.micro_batch);
    const double y = point.step_s / static_cast<double>(point.accumulation);
    const double weight = 1.0 / (y * y);
    sums.w += weight;
    sums.wx += weight * x;
    sums.wxx += weight * x * x;
    sums.wy += weight * y;
    sums.wxy += weight * x * y;
    model.micro_batches_.push_back(x);
  }
  std::sort(model.micro_batches_.begin(), model.micro_batches_.end());
  const auto& measured = model.micro_batches_;
  if (measured.empty() || measured.front() == measured.back()) return std::nullopt;
  const double determinant = sums.w * sums.wxx - sums.wx * sums.wx;
  model.per_sample_s_ = (sums.w * sums.wxy - sums.wx * sums.wy) / determinant;
  model.fixed_s_ = (sums.wy - model.per_sample_s_ * sums.wx) / sums.w;
  // A negative cost is noise: the best fit with that cost left out.
  if (model.fixed_s_ < 0.0) {
    model.fixed_s_ = 0.0;
    model.per_sample_s_ = sums.wxy / sums.wxx;
  } else if (model.per_sample_s_ < 0.0) {
    model.per_sample_s_ = 0.0;
    model.fixed_s_ = sums.wy / sums.w;
  }
  double squares = prior_weight * prior_deviation * prior_deviation;
  for (const StepPoint& point : points) {
    if (!is_usable(point)) continue;
    const double predicted = model.step_s(point.micro_batch, point.accumulation);
    const double relative = predicted / point.step_s - 1.0;
    squares += relative * relative;
  }
  const double freedom = prior_weight + static_cast<double>(measured.size()) - 2.0;
  model.deviation_ = std::sqrt(squares / freedom);
  return model;
}

double StepModel::step_s(std::int64_t micro_batch, std::int64_t accumulation) const {
  return static_cast<double>(accumulation) *
         (fixed_s_ + per_sample_s_ * static_cast<double>(micro_batch));
}

double StepModel::spread(std::int64_t micro_batch) const {
  double nearest = INFINITY;
  for (const double measured : micro_batches_) {
    nearest = std::min(nearest, std::abs(std::log2(static_cast<double>(micro_batch) / measured)));
  }
  return deviation_ * (0.5 + a_doubling * nearest);
}

double StepModel::spread_between(std::int64_t one, std::int64_t other) const {
  const double doublings = std::log2(static_cast<double>(one) / static_cast<double>(other));
  return deviation_ * a_doubling * std::abs(doublings);
}

std::optional<StepForecast> extrapolated_step(std::span<const StepPoint> points,
                                              std::int64_t micro_batch, std::int64_t accumulation) {
  struct Mean {
    double sum = 0.0;      // of micro-step times
    double squares = 0.0;  // of their deviations, s^2
    double count = 0.0;
    [[nodiscard]] double value() const { return sum / count; }
    [[nodiscard]] double deviation() const { return std::sqrt(squares) / count; }
  };
  std::map<std::int64_t, Mean> measured;
  for (const StepPoint& point : points) {
    if (!is_usable(point)) continue;
    const double micro_step_s = point.step_s / static_cast<double>(point.accumulation);
    Mean& mean = measured[point.micro_batch];
    mean.sum += micro_step_s;
    mean.squares += std::pow(point.deviation * micro_step_s, 2);
    mean.count += 1.0;
  }
  if (measured.size() < 2 || measured.rbegin()->first >= micro_batch) return std::nullopt;
  const auto& [last_at, last] = *measured.rbegin();
  const auto& [before_at, before] = *std::next(measured.rbegin());
  const double reach =
      static_cast<double>(micro_batch - last_at) / static_cast<double>(last_at - before_at);
  // No less than what the last one took: a slope below zero is noise.
  const double rise = std::max(0.0, reach * (last.value() - before.value()));
  const double micro_step_s = last.value() + rise;
  const double error =
      std::hypot((1.0 + reach) * last.deviation(), reach * before.deviation()) / micro_step_s;
  return StepForecast{.step_s = micro_step_s * static_cast<double>(accumulation),
                      .deviation = error};
}

}  // namespace slurmtune
