// SPDX-License-Identifier: MIT
#include "slurmtune/model/memory/peak.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <utility>

#include "slurmtune/model/memory/activations.hpp"
#include "slurmtune/model/memory/buffers.hpp"
#include "slurmtune/model/memory/host.hpp"
#include "slurmtune/model/memory/model_states.hpp"

namespace slurmtune {

namespace {

constexpr double mib = 1024.0 * 1024.0;
constexpr double fragmented_share = 0.04;

double overhead_bytes(const ParallelLayout& layout) {
  constexpr double context = 512.0 * mib;
  constexpr double workspace = 32.0 * mib;
  constexpr double communication = 410.0 * mib;
  return context + workspace + (layout.ranks() > 1 ? communication : 0.0);
}

const Point& highest_of(std::span<const Point> points) {
  return *std::ranges::max_element(points, {}, &Point::x);
}

/// Whether measured peaks lie where the step is fullest, which does not grow with the micro-batch:
/// they rise less than half as much as the model says, and are above it.
bool is_below_turn(const AffineFit& fit, const MemoryPrior& prior, std::span<const Point> points) {
  const Point& highest = highest_of(points);
  const double predicted = prior.at_first + prior.slope * (highest.x - prior.first);
  return 2.0 * fit.slope < prior.slope && predicted <= highest.y;
}

/// Activations and logits at the turn from forward to backward, on the fuller end of a pipeline:
/// the first stage holds as many micro-batches as there are stages, the last one, and the logits.
std::pair<double, double> at_the_turn(const ActivationBytes& activations, double logits,
                                      const ParallelLayout& layout) {
  if (layout.pipeline <= 1) return {activations.stored, logits};
  const double last = activations.stored / static_cast<double>(layout.in_flight());
  if (last + logits > activations.stored) return {last, logits};
  return {activations.stored, 0.0};
}

}  // namespace

std::string_view name_of(PeakPhase phase) {
  switch (phase) {
    case PeakPhase::loss: return "loss";
    case PeakPhase::backward: return "backward";
    case PeakPhase::step: return "step";
  }
  return "";
}

MemoryBreakdown peak_memory(const MemoryQuestion& question, double micro_batch) {
  const auto& [shape, setup, layout, zero_stage] = question;
  const ModelStates states = model_states(shape.params, shape.trainable, zero_stage, layout, setup);
  const ActivationBytes activations = activation_bytes(shape, micro_batch, layout, setup);
  const double logits = logit_bytes(shape, micro_batch, layout, setup);
  const ParameterBytes bytes = parameter_bytes(setup.precision, setup.gradients, zero_stage);
  const double own = shape.trainable / static_cast<double>(layout.tensor * layout.pipeline);

  MemoryBreakdown base;
  base.parameters = states.parameters;
  base.gradients = states.gradients;
  base.optimizer = states.optimizer;
  base.overhead = overhead_bytes(layout);

  MemoryBreakdown loss = base;
  loss.phase = PeakPhase::loss;
  loss.buffers = reduce_bucket_bytes(shape.trainable, zero_stage, layout, setup);
  loss.buffers += sequence_buffer_bytes(shape, micro_batch, layout, setup);
  const GatheredBytes gathered = gathered_bytes(shape, zero_stage, layout, setup);
  loss.gathered = gathered.loss;
  std::tie(loss.activations, loss.logits) = at_the_turn(activations, logits, layout);

  MemoryBreakdown backward = loss;
  backward.phase = PeakPhase::backward;
  backward.activations = activations.stored + activations.working;
  backward.logits = 0.0;
  backward.gathered = gathered.backward;
  backward.buffers += bytes.transient * own;

  MemoryBreakdown step = base;
  step.phase = PeakPhase::step;
  step.buffers = step_bytes(shape.trainable, zero_stage, layout, setup);

  MemoryBreakdown peak = loss;
  for (const MemoryBreakdown& moment : {backward, step}) {
    if (moment.allocated() > peak.allocated()) peak = moment;
  }
  peak.fragments = fragmented_share * peak.allocated();
  peak.host_per_node = host_bytes_per_node(shape, zero_stage, micro_batch, layout, setup);
  return peak;
}

double fit_probability(const MemoryBreakdown& predicted, double capacity) {
  constexpr double allocator_deviation = 0.03;
  const double unsure = model_deviation * (predicted.total() - predicted.states());
  const double deviation = std::hypot(allocator_deviation * capacity, unsure);
  return normal_cdf((capacity - predicted.total()) / deviation);
}

std::int64_t largest_micro_batch(const MemoryQuestion& question, double capacity,
                                 std::int64_t most) {
  const auto fits = [&](std::int64_t micro_batch) {
    return peak_memory(question, static_cast<double>(micro_batch)).total() <= capacity;
  };
  if (!fits(1)) return 0;
  std::int64_t low = 1;
  std::int64_t high = most + 1;
  while (high - low > 1) {
    const std::int64_t middle = low + (high - low) / 2;
    (fits(middle) ? low : high) = middle;
  }
  return low;
}

std::optional<AffineFit> calibrated(const std::optional<MemoryPrior>& prior,
                                    std::span<const Point> points, std::optional<double> capacity) {
  const auto fit = fit_affine(points);
  if (fit && !(prior && is_below_turn(*fit, *prior, points))) return fit;
  if (!prior) return std::nullopt;
  AffineFit line;
  line.slope = prior->slope;
  line.intercept = prior->at_first - prior->slope * prior->first;
  line.x_mean = prior->first;
  line.points = static_cast<int>(points.size());
  double level = capacity.value_or(prior->at_first);
  if (fit) {
    const Point& highest = highest_of(points);
    line.x_mean = highest.x;
    level = std::max(0.0, level - highest.y);
  } else if (!points.empty()) {
    double sum = 0.0;
    for (const Point& point : points) sum += point.y;
    const double measured = sum / static_cast<double>(points.size());
    line.x_mean = points.front().x;
    line.intercept = measured - line.slope * line.x_mean;
    level = std::max(0.0, level - measured);
  }
  line.residual = model_deviation * level;
  return line;
}

MemoryPrior memory_prior(const MemoryQuestion& question, double first, double last) {
  const double low = peak_memory(question, first).reserved();
  const double high = last > first ? peak_memory(question, last).reserved() : low;
  return {low, last > first ? (high - low) / (last - first) : 0.0, first};
}

}  // namespace slurmtune
