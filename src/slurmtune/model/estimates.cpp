// SPDX-License-Identifier: MIT
#include "slurmtune/model/estimates.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <span>
#include <tuple>

#include "slurmtune/model/statistics.hpp"

namespace slurmtune {

namespace {

constexpr int draws = 4000;

/// Half the width of an interval, relative to its middle.
double relative_half(const Interval& interval) {
  return interval.mid > 0.0 ? (interval.high - interval.low) / (2.0 * interval.mid) : 0.0;
}

std::vector<double> middles(const std::map<int, Interval>& by_repeat) {
  std::vector<double> values;
  for (const auto& [repeat, score] : by_repeat) values.push_back(score.mid);
  return values;
}

/// The geometric mean of at least two positive values with its 95 % interval: Student's t on the
/// logarithms. Scores are positive, and runs of one configuration differ by factors (clocks,
/// congestion), not by amounts: so the interval of three noisy runs stays above 0, and that of step
/// times is that of the speeds, turned over.
Interval log_mean_interval(std::span<const double> values) {
  std::vector<double> logarithms;
  logarithms.reserve(values.size());
  for (const double value : values) logarithms.push_back(std::log(value));
  const Interval log = mean_interval(logarithms);
  return {.low = std::exp(log.low), .mid = std::exp(log.mid), .high = std::exp(log.high)};
}

Interval score_over(const std::map<int, Interval>& by_repeat) {
  if (by_repeat.size() == 1) return by_repeat.begin()->second;
  return log_mean_interval(middles(by_repeat));
}

void take(Estimate& estimate, const Trial& trial, const Interval& score) {
  const bool confirms = trial.experiment.purpose == Purpose::confirm;
  if (confirms && !estimate.confirmed) {
    estimate.by_repeat.clear();
    estimate.confirmed = true;
    estimate.trial = nullptr;
  }
  if (estimate.confirmed && !confirms) return;
  estimate.by_repeat.emplace(trial.experiment.repeat, score);
  if (estimate.trial == nullptr) estimate.trial = &trial;
}

/// A repeat of a configuration, in confirm or before it.
using Repeat = std::tuple<ConfigurationId, bool, int>;

Repeat repeat_of(const Trial& trial) {
  const Experiment& experiment = trial.experiment;
  return {experiment.configuration_id, experiment.purpose == Purpose::confirm, experiment.repeat};
}

/// The steps of the longest run of each repeat that came to an end of its own: it alone counts,
/// even if it failed where a shorter one did not.
std::map<Repeat, int> longest_runs(const History& history) {
  std::map<Repeat, int> longest;
  for (const Trial& trial : history.trials()) {
    if (!trial.verdict || !rule_of(trial.outcome()).counts_as_tried) continue;
    if (trial.wants_another_try()) continue;
    int& steps = longest[repeat_of(trial)];
    steps = std::max(steps, trial.experiment.max_steps);
  }
  return longest;
}

/// Configurations of which a repeat of confirm ran out of memory.
std::set<ConfigurationId> out_of_memory_when_repeated(const History& history) {
  std::set<ConfigurationId> found;
  for (const Trial& trial : history.trials()) {
    if (trial.asked_by == Purpose::confirm && ran_out_of_memory(trial)) {
      found.insert(trial.experiment.configuration_id);
    }
  }
  return found;
}

/// Relative deviation between runs, pooled over the configurations that were repeated.
struct Pooled {
  double deviation = run_to_run_deviation;
  int degrees = 0;
};

Pooled pool(const std::vector<Estimate>& estimates) {
  double squares = 0.0;
  int degrees = 0;
  for (const Estimate& estimate : estimates) {
    if (estimate.by_repeat.size() < 2) continue;
    const std::vector<double> values = middles(estimate.by_repeat);
    const double relative = sample_deviation(values) / mean(values);
    const auto freedom = static_cast<int>(values.size()) - 1;
    squares += relative * relative * freedom;
    degrees += freedom;
  }
  if (degrees == 0) return {};
  return {.deviation = std::sqrt(squares / degrees), .degrees = degrees};
}

double draw_mean(const Estimate& estimate, const Pooled& pooled, Random& random) {
  const auto repeats = static_cast<double>(estimate.by_repeat.size());
  if (estimate.by_repeat.size() < 2) {
    const double within = deviation_of(estimate.score) / estimate.score.mid;
    const double between = std::max(pooled.deviation, run_to_run_deviation);
    return estimate.score.mid * (1.0 + std::hypot(within, between) * draw_normal(random));
  }
  const double error = pooled.deviation / std::sqrt(repeats);
  return estimate.score.mid * (1.0 + error * draw_student_t(random, pooled.degrees));
}

}  // namespace

bool ran_out_of_memory(const Trial& trial) {
  if (!trial.verdict || trial.wants_another_try()) return false;
  const MemoryEvidence evidence = rule_of(trial.outcome()).memory;
  return evidence == MemoryEvidence::exceeds_gpu || evidence == MemoryEvidence::exceeds_host;
}

std::vector<Estimate> estimate_all(const History& history, const Objective& objective,
                                   const ConfigurationId& baseline) {
  std::map<ConfigurationId, Estimate> found;
  const std::map<Repeat, int> longest = longest_runs(history);
  for (const Trial& trial : history.trials()) {
    const auto score = objective.score(trial);
    if (!score) continue;
    const auto counts = longest.find(repeat_of(trial));
    if (counts != longest.end() && trial.experiment.max_steps < counts->second) continue;
    Estimate& estimate = found[trial.experiment.configuration_id];
    estimate.id = trial.experiment.configuration_id;
    estimate.configuration = trial.experiment.configuration;
    take(estimate, trial, *score);
  }
  // What fits by chance is no winner, unless there is nothing else.
  const std::set<ConfigurationId> unsafe = out_of_memory_when_repeated(history);
  const auto is_unsafe = [&](const auto& entry) { return unsafe.contains(entry.first); };
  if (!std::all_of(found.begin(), found.end(), is_unsafe)) std::erase_if(found, is_unsafe);
  std::vector<Estimate> estimates;
  for (auto& [id, estimate] : found) {
    estimate.score = score_over(estimate.by_repeat);
    estimates.push_back(std::move(estimate));
  }
  std::sort(estimates.begin(), estimates.end(), [&](const Estimate& a, const Estimate& b) {
    const auto key = [&](const Estimate& estimate) {
      return std::tuple(!estimate.confirmed, -estimate.score.mid, estimate.id != baseline);
    };
    if (key(a) != key(b)) return key(a) < key(b);
    return a.configuration < b.configuration;
  });
  return estimates;
}

Interval ratio_of(const Estimate& above, const Estimate& below) {
  if (above.id == below.id) return {1.0, 1.0, 1.0};
  std::vector<double> ratios;
  for (const auto& [repeat, score] : above.by_repeat) {
    const auto other = below.by_repeat.find(repeat);
    const bool paired = above.confirmed == below.confirmed && other != below.by_repeat.end();
    if (paired) ratios.push_back(score.mid / other->second.mid);
  }
  if (ratios.size() >= 2) return log_mean_interval(ratios);
  const double middle = above.score.mid / below.score.mid;
  const double half = std::hypot(relative_half(above.score), relative_half(below.score));
  return {middle * std::exp(-half), middle, middle * std::exp(half)};
}

std::vector<double> probabilities_best(const std::vector<Estimate>& estimates, Seed seed) {
  if (estimates.size() == 1) return {1.0};
  const Pooled pooled = pool(estimates);
  Random chance(seed);
  std::vector<double> wins(estimates.size(), 0.0);
  std::vector<double> drawn(estimates.size(), 0.0);
  for (int draw = 0; draw < draws; ++draw) {
    for (std::size_t i = 0; i < estimates.size(); ++i) {
      drawn[i] = draw_mean(estimates[i], pooled, chance);
    }
    // Repeats without any spread tie in every draw: those that tie share it, the first of them
    // is no better than the others. Means of equal readings may differ by rounding.
    const double best = *std::max_element(drawn.begin(), drawn.end());
    const auto ties = [&](double value) { return value >= best - 1e-12 * std::abs(best); };
    const auto share = 1.0 / static_cast<double>(std::count_if(drawn.begin(), drawn.end(), ties));
    for (std::size_t i = 0; i < drawn.size(); ++i) {
      if (ties(drawn[i])) wins[i] += share;
    }
  }
  std::vector<double> probabilities;
  for (const double count : wins) {
    probabilities.push_back(std::round(1000.0 * count / draws) / 1000.0);
  }
  return probabilities;
}

}  // namespace slurmtune
