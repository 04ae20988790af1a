// SPDX-License-Identifier: MIT
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "slurmtune/analyze/analysis.hpp"
#include "slurmtune/base/units.hpp"
#include "slurmtune/generate/label.hpp"

namespace slurmtune {

namespace {

constexpr std::size_t ranking_max = 10;
constexpr std::size_t failures_max = 20;

Ranked ranked(const Estimate& estimate, const Objective& objective) {
  Ranked row;
  row.configuration = estimate.id;
  row.values = estimate.configuration.values;
  row.label = label_of(estimate.configuration);
  const Metrics& metrics = estimate.trial->verdict->metrics;
  row.throughput = objective.readable(estimate.score);
  row.step_s = metrics.step_s;
  row.peak_gpu_bytes = metrics.peak_gpu_bytes;
  row.repeats = static_cast<int>(estimate.by_repeat.size());
  return row;
}

bool is_failure(const Trial& trial) {
  if (!trial.verdict || trial.worked()) return false;
  return trial.verdict->outcome != Outcome::not_started || is_stand_in(*trial.verdict);
}

Failure failure_of(const Trial& trial) {
  Failure failure;
  failure.experiment = trial.experiment.id;
  failure.label = trial.experiment.label;
  failure.outcome = trial.outcome();
  if (trial.verdict->evidence) {
    failure.line = trial.verdict->evidence->line;
    failure.log = trial.verdict->evidence->log;
  }
  if (failure.line.empty()) failure.line = trial.verdict->reason;
  if (trial.is_given_up()) {
    const auto lost = trial.losses.find(trial.verdict->outcome);
    const int times = lost == trial.losses.end() ? 0 : lost->second;
    failure.line += times > 1 ? fmt::format("; lost {} times, given up", times) : "; given up";
  }
  return failure;
}

std::string in_its_words(const Failure& failure) {
  return failure.line.empty() ? failure.label : failure.label + ": " + failure.line;
}

/// `no trial reported "thruput" (they told step_s, wall_s); did you mean "throughput"?`
std::string unreported_in_words(const Analysis& analysis) {
  const std::string name = analysis.reported_by_none();
  if (name.empty()) return "";
  std::set<std::string> told;
  for (const Trial& trial : analysis.history().trials()) {
    if (!trial.worked()) continue;
    const Metrics& metrics = trial.verdict->metrics;
    for (const auto& [metric, value] : metrics.user) told.insert(metric);
    if (metrics.step_s) told.insert("step_s");
    if (metrics.throughput) told.insert("throughput");
    if (metrics.peak_gpu_bytes) told.insert("peak_gpu_bytes");
  }
  const std::string_view nearest = nearest_word(name, std::vector(told.begin(), told.end()));
  return fmt::format("no trial reported \"{}\" (they told {}){}", name, fmt::join(told, ", "),
                     nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest));
}

/// Why there is no best: how the experiments ended, and one of them in its own words.
std::string why_nothing(const Analysis& analysis, const std::vector<Failure>& failures) {
  std::map<std::string, int> counts;
  std::string unranked;
  for (const Trial& trial : analysis.history().trials()) {
    ++counts[std::string(name_of(trial.outcome()))];
    if (unranked.empty()) unranked = analysis.objective().why_unranked(trial);
  }
  if (counts.empty()) return "nothing was run";
  std::string endings;
  for (const auto& [outcome, count] : counts) {
    endings += fmt::format("{}{} {}", endings.empty() ? "" : ", ", count, outcome);
  }
  std::string why = fmt::format("no experiment could be ranked ({})", endings);
  if (const std::string missing = unreported_in_words(analysis); !missing.empty()) {
    // Of throughput the reason says what to do.
    return why + "; " + missing + (missing.ends_with('?') ? "" : "; " + unranked);
  }
  if (!unranked.empty()) return why + "; " + unranked;
  if (failures.empty()) return why;
  const auto& deepspeed = analysis.input().spec.deepspeed;
  if (deepspeed && deepspeed->fast && counts.contains("gpu_oom")) {
    why += "; fast = false would try offload and activation checkpointing";
  }
  // The baseline's words say most: it is what the user runs every day.
  const Trial* baseline = analysis.history().of(analysis.baseline());
  const Failure& told =
      baseline && is_failure(*baseline) ? failure_of(*baseline) : failures.front();
  return why + "; " + in_its_words(told);
}

std::string stopped_early(Stop stop) {
  switch (stop) {
    case Stop::budget: return "; the budget is used up";
    case Stop::deadline: return "; the deadline was reached";
    case Stop::cancelled: return "; the study was cancelled";
    case Stop::storage_error: return "; the file system failed";
    case Stop::baseline_config_error: return "; the baseline's configuration was refused";
    case Stop::gain:
    case Stop::exhausted:
    case Stop::nothing_worked: break;
  }
  return "";
}

/// What works and yet has no place in the ranking: ` (2 others work, but are not ranked: ...)`.
std::string unranked_in_words(const Analysis& analysis) {
  std::set<ConfigurationId> others;
  std::string reason;
  for (const Trial& trial : analysis.history().trials()) {
    if (trial.experiment.configuration_id == analysis.estimates().front().id) continue;
    const std::string why = analysis.objective().why_unranked(trial);
    if (why.empty()) continue;
    if (reason.empty()) reason = why;
    others.insert(trial.experiment.configuration_id);
  }
  if (others.empty()) return "";
  return others.size() == 1
             ? fmt::format(" (another works, but is not ranked: {})", reason)
             : fmt::format(" ({} others work, but are not ranked: {})", others.size(), reason);
}

std::string only_one_in_words(const Analysis& analysis, const TuningResult& result) {
  const std::string unranked = unranked_in_words(analysis);
  return fmt::format("the baseline {} is the only configuration that {}{}", result.best->label,
                     unranked.empty() ? "works" : "can be ranked", unranked);
}

/// Why there is no figure of the baseline.
std::string no_baseline_in_words(const Analysis& analysis, const TuningResult& result) {
  const Trial* baseline = analysis.history().of(analysis.baseline());
  const std::string unranked =
      baseline != nullptr ? analysis.objective().why_unranked(*baseline) : std::string();
  if (!unranked.empty()) return fmt::format("the baseline is not ranked ({})", unranked);
  return fmt::format("the baseline does not run ({})", name_of(result.baseline_outcome));
}

/// `x-4 is 1.33 times as fast as the baseline x-2 (...)`, or of what is no speed: `x-4 has 0.75
/// times the cost of the baseline x-2 (...)`.
std::string gain_in_words(const Objective& objective, const TuningResult& result) {
  const bool is_speed = objective.follows_step_time();
  const Interval ratio = is_speed ? *result.speedup : objective.readable_ratio(*result.speedup);
  const std::string what =
      is_speed ? fmt::format("is {:.3g} times as fast as", ratio.mid)
               : fmt::format("has {:.3g} times the {} of", ratio.mid, objective.label());
  return fmt::format("{} {} the baseline {} (95 % interval {:.3g} to {:.3g})", result.best->label,
                     what, result.baseline->label, ratio.low, ratio.high);
}

/// The sentence for people.
std::string why_best(const Analysis& analysis, const TuningResult& result) {
  const Estimate& best = analysis.estimates().front();
  const char* superlative = analysis.objective().follows_step_time() ? "fastest" : "best";
  std::string why;
  if (best.id == analysis.baseline()) {
    why = analysis.estimates().size() == 1
              ? only_one_in_words(analysis, result)
              : fmt::format("the baseline {} is the {} that was measured: nothing to change",
                            result.best->label, superlative);
  } else if (result.speedup) {
    why = gain_in_words(analysis.objective(), result);
    if (result.speedup->low <= 1.0) why += ", which cannot be told from no gain";
  } else {
    why = fmt::format("{} is the {} that works; {}", result.best->label, superlative,
                      no_baseline_in_words(analysis, result));
  }
  if (!best.confirmed) {
    why += "; not confirmed by repeats";
  } else if (best.by_repeat.size() == 1) {
    why += "; confirmed by one repeat only";
  }
  return why + stopped_early(result.stop);
}

}  // namespace

TuningResult tuning_result(const Analysis& analysis, const Spending& spending, Stop stop) {
  TuningResult result;
  result.stop = stop;
  result.baseline_outcome = analysis.baseline_outcome();
  result.experiments_run = analysis.history().tries_started();
  result.spent_node_seconds = spending.node_seconds;
  for (const Trial& trial : analysis.history().trials()) {
    if (result.failures.size() == failures_max) break;
    if (is_failure(trial)) result.failures.push_back(failure_of(trial));
  }
  const std::vector<Estimate>& estimates = analysis.estimates();
  for (const Estimate& estimate : estimates) {
    if (result.ranking.size() == ranking_max) break;
    result.ranking.push_back(ranked(estimate, analysis.objective()));
  }
  const Estimate* baseline = analysis.baseline_estimate();
  if (baseline) result.baseline = ranked(*baseline, analysis.objective());
  if (estimates.empty()) {
    result.why = why_nothing(analysis, result.failures) + stopped_early(stop);
    return result;
  }
  result.best = result.ranking.front();
  result.probability_best = analysis.probabilities().front();
  if (baseline) result.speedup = ratio_of(estimates.front(), *baseline);
  result.why = why_best(analysis, result);
  return result;
}

}  // namespace slurmtune
