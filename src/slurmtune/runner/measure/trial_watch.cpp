// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/trial_watch.hpp"

#include <array>

#include <fmt/format.h>

#include "slurmtune/record/name_table.hpp"
#include "slurmtune/runner/measure/step_interval.hpp"

namespace slurmtune {

namespace {

constexpr NameTable<EndReason, 9> reasons{
    {"interval_reached", "max_steps", "cannot_beat_incumbent", "loss_not_finite",
     "no_step_in_startup_s", "no_step_in_stall_s", "total_s", "preempted", "cancelled"}};

}  // namespace

std::string_view name_of(EndReason reason) { return reasons.name_of(reason); }

Expected<WatchRules> watch_rules(const MeasureSpec& measure, const Experiment& experiment) {
  WatchRules rules;
  rules.source = measure.source;
  switch (measure.source) {
    case MeasureSource::deepspeed:
    case MeasureSource::metrics_file: break;
    case MeasureSource::pattern: {
      SLURMTUNE_TRY(rules.pattern, StepPattern::compile(measure.pattern));
      break;
    }
    case MeasureSource::hf:
    case MeasureSource::megatron:
    case MeasureSource::nanotron:
    case MeasureSource::torchtitan:
      return invalid_input(
          "measure.source: this version measures deepspeed, metrics_file and pattern only; write "
          "source = \"pattern\" with a regular expression for the trainer's step line");
  }
  rules.min_steps = experiment.min_steps;
  rules.max_steps = experiment.max_steps;
  rules.interval = measure.interval;
  rules.limits = experiment.limits;
  return rules;
}

bool TrialWatch::output_line(std::string_view line, double now_s) {
  std::optional<StepReport> report;
  if (rules_.source == MeasureSource::deepspeed) report = parse_deepspeed_line(line);
  if (rules_.pattern) {
    report = rules_.pattern->match(line);
    // A line that matches ends a step, whether or not it tells its number.
    if (report && !report->ends_step()) {
      report->step = meter_.steps_seen() + 1;
    }
  }
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
  if (meter_.steps_seen() != before) enough_ = measured_enough();
}

std::optional<EndReason> TrialWatch::measured_enough() const {
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
  return std::nullopt;
}

std::optional<EndReason> TrialWatch::due(double now_s) const {
  if (meter_.loss_is_gone()) return EndReason::nan;
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
