// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/trial_watch.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "slurmtune/record/name_table.hpp"
#include "slurmtune/runner/measure/sources/sources.hpp"
#include "slurmtune/runner/measure/step_interval.hpp"

namespace slurmtune {

namespace {

constexpr NameTable<EndReason, 11> reasons{{"interval_reached", "max_steps", "long_enough",
                                            "cannot_beat_incumbent", "loss_not_finite",
                                            "no_step_in_startup_s", "no_step_in_stall_s", "total_s",
                                            "preempted", "cancelled", "overflow_storm"}};

constexpr double search_interval = 0.1;
// A start costs the same again, and a new run tells more than more steps of the old one: runs of
// one configuration differ. What a confirmed speed is made of is timed for twice as long.
constexpr double search_timed_for = 1.0;
constexpr double confirm_timed_for = 2.0;
constexpr double timed_s_min = 5.0;

/// The rungs of halving are defined by their steps.
bool is_rung(Purpose purpose) { return purpose == Purpose::knobs || purpose == Purpose::halving; }

}  // namespace

std::string_view name_of(EndReason reason) { return reasons.name_of(reason); }

Expected<WatchRules> watch_rules(const MeasureSpec& measure, const Experiment& experiment) {
  WatchRules rules;
  rules.source = measure.source;
  if (measure.source == MeasureSource::pattern) {
    SLURMTUNE_TRY(rules.pattern, StepPattern::compile(measure.pattern));
  }
  rules.min_steps = experiment.min_steps;
  rules.max_steps = experiment.max_steps;
  // A single run of the search tells no more than what runs differ by, however long it is.
  const bool confirms = experiment.purpose == Purpose::confirm;
  rules.interval = confirms ? measure.interval : std::max(measure.interval, search_interval);
  if (!is_rung(experiment.purpose)) {
    rules.timed_for_starts = confirms ? confirm_timed_for : search_timed_for;
  }
  rules.limits = experiment.limits;
  return rules;
}

std::optional<StepReport> TrialWatch::parse(std::string_view line) {
  std::optional<StepReport> report;
  switch (rules_.source) {
    case MeasureSource::metrics_file: break;
    case MeasureSource::deepspeed: return parse_deepspeed_line(line);
    case MeasureSource::megatron: return parse_megatron_line(line);
    case MeasureSource::nanotron: return parse_nanotron_line(line);
    case MeasureSource::torchtitan: return parse_torchtitan_line(line);
    case MeasureSource::hf:
      report = parse_hf_line(line);
      if (!report || !report->steps_in_all) break;
      // The first bar of steps is the training's; others are of evaluations.
      if (!steps_in_all_) steps_in_all_ = report->steps_in_all;
      if (report->steps_in_all != steps_in_all_) report.reset();
      break;
    case MeasureSource::pattern:
      if (rules_.pattern) report = rules_.pattern->match(line);
      // A line that matches ends a step, whether or not it tells its number.
      if (report && !report->ends_step()) report->step = meter_.steps_seen() + 1;
      break;
  }
  return report;
}

bool TrialWatch::output_line(std::string_view line, double now_s) {
  const std::optional<StepReport> report = parse(line);
  if (!report) return false;
  const int before = meter_.steps_seen();
  add(*report, StepChannel::log, now_s);
  return meter_.steps_seen() != before;
}

void TrialWatch::metrics_line(std::string_view line, double now_s) {
  if (const auto report = parse_metrics_line(line)) add(*report, StepChannel::metrics, now_s);
}

void TrialWatch::add(const StepReport& report, StepChannel channel, double now_s) {
  const int before = meter_.steps_seen();
  meter_.add(report, channel, now_s);
  if (meter_.steps_seen() != before) enough_ = measured_enough(now_s);
}

std::optional<EndReason> TrialWatch::measured_enough(double now_s) const {
  const StepSummary summary = meter_.summary();
  if (!summary.step_s || summary.times.measured < rules_.min_steps) return std::nullopt;
  // Three readings at least: the interval of two is as wide as a ruler is long, or nothing.
  constexpr std::size_t readings_min = 3;
  const bool several = summary.times.step_s.size() >= readings_min;
  if (several && relative_width(*summary.step_s) <= rules_.interval) {
    return EndReason::interval_reached;
  }
  if (summary.times.measured >= rules_.max_steps) return EndReason::max_steps;
  if (several && rules_.hopeless_step_s && summary.step_s->low > *rules_.hopeless_step_s) {
    return EndReason::cannot_win;
  }
  if (several && rules_.timed_for_starts) {
    const double start_s = *meter_.first_step_at();
    const double enough_s = std::max(*rules_.timed_for_starts * start_s, timed_s_min);
    if (now_s - start_s >= enough_s) return EndReason::long_enough;
  }
  return std::nullopt;
}

std::optional<EndReason> TrialWatch::due(double now_s) const {
  if (meter_.loss_is_gone()) return EndReason::nan;
  if (meter_.only_overflows()) return EndReason::overflow_storm;
  if (enough_) return enough_;
  if (rules_.ends_by_s && now_s >= *rules_.ends_by_s) return EndReason::preempted;
  if (now_s >= rules_.limits.total_s) return EndReason::total;
  if (!meter_.last_step_at()) {
    if (now_s >= rules_.limits.startup_s) return EndReason::no_step_in_startup;
  } else if (now_s - *meter_.last_step_at() >= rules_.limits.stall_s) {
    return EndReason::no_step_in_stall;
  }
  return std::nullopt;
}

}  // namespace slurmtune
