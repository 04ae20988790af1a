// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/step_meter.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "slurmtune/runner/measure/step_interval.hpp"
#include "slurmtune/runner/measure/warmup.hpp"

namespace slurmtune {

namespace {

constexpr int warmup_steps_min = 2;

void raise(std::optional<double>& peak, const std::optional<double>& value) {
  if (value && (!peak || *value > *peak)) peak = value;
}

int clamped(std::int64_t value) {
  return static_cast<int>(std::clamp<std::int64_t>(value, 0, std::numeric_limits<int>::max()));
}

}  // namespace

void StepMeter::add(const StepReport& report, StepChannel channel, double arrival_s) {
  keep_facts(report, channel);
  if (!report.ends_step()) {
    if (channel == channel_) count_loss(report);  // some tell the loss in a line of its own
    return;
  }
  if (channel == StepChannel::metrics && channel_ == StepChannel::log) {
    // From now on the metrics rule; what the log timed would be counted twice.
    channel_ = StepChannel::metrics;
    readings_.clear();
    last_number_.reset();
    last_at_.reset();
    untimed_ = 0;
    seen_ = 0;
    bad_losses_ = 0;
    steps_counted_ = 0;
    counted_from_.reset();
  }
  if (channel == channel_) {
    end_step(report, arrival_s);
  } else if (report.skipped) {
    skipped_ = std::max(skipped_, *report.skipped);
  }
}

void StepMeter::keep_facts(const StepReport& report, StepChannel channel) {
  raise(channel == StepChannel::log ? log_peak_bytes_ : metrics_peak_bytes_, report.peak_gpu_bytes);
  if (report.gpu_bytes) gpu_bytes_ = report.gpu_bytes;
  if (report.params) shape_.params = report.params;
  if (report.layers) shape_.layers = report.layers;
  if (report.hidden) shape_.hidden = report.hidden;
  if (report.sequence_length) shape_.sequence_length = report.sequence_length;
  if (report.flops_per_gpu) flops_per_gpu_ = report.flops_per_gpu;
  for (const auto& [name, value] : report.user) user_[name] = value;
  for (const auto& [name, value] : report.refused) {
    Refused& refused = refused_[name];
    ++refused.count;
    refused.last = value;
  }
}

void StepMeter::count_loss(const StepReport& report) {
  if (!report.loss) return;
  bad_losses_ = std::isfinite(*report.loss) ? 0 : bad_losses_ + 1;
}

void StepMeter::end_step(const StepReport& report, double arrival_s) {
  if (report.step && last_number_ && *report.step <= *last_number_) {
    const bool same = *report.step == *last_number_;
    if (same && report.step_s && last_was_timed_ && !readings_.empty()) {
      readings_.back().step_s = std::max(readings_.back().step_s, *report.step_s);
    }
    return;
  }
  const std::int64_t steps = report.step && last_number_ ? *report.step - *last_number_ : 1;
  last_was_timed_ = report.step_s.has_value();
  if (!count_skipped(report, last_number_ ? steps : report.step.value_or(1))) {
    count_loss(report);  // one of a skipped step may be infinite
    take_reading(report, arrival_s, steps);
  }
  if (report.step) last_number_ = report.step;
  if (counted_from_) steps_counted_ += steps;
  if (!counted_from_) counted_from_ = arrival_s;
  if (!first_at_) first_at_ = arrival_s;
  last_at_ = arrival_s;
  ++seen_;
}

void StepMeter::take_reading(const StepReport& report, double arrival_s, std::int64_t steps) {
  if (report.step_s) {
    readings_.push_back({*report.step_s, report.is_mean ? clamped(steps) : 1, report.samples});
  } else if (last_at_ && arrival_s > *last_at_ && !report.refused.contains("step_s")) {
    readings_.push_back(
        {(arrival_s - *last_at_) / static_cast<double>(steps), clamped(steps), report.samples});
  } else {
    ++untimed_;
  }
}

/// True if some of the `steps` that the report tells of were skipped.
bool StepMeter::count_skipped(const StepReport& report, std::int64_t steps) {
  std::int64_t now = std::max<std::int64_t>(report.skipped_now.value_or(0), 0);
  if (report.skipped) now = std::max(now, *report.skipped - skipped_);
  skipped_ += now;
  skipped_in_a_row_ = now >= steps ? skipped_in_a_row_ + now : 0;
  return now > 0;
}

std::optional<double> StepMeter::arrival_step_s() const {
  if (steps_counted_ < 1 || *last_at_ <= *counted_from_) return std::nullopt;
  return (*last_at_ - *counted_from_) / static_cast<double>(steps_counted_);
}

StepSummary StepMeter::summary() const {
  std::vector<double> all;
  all.reserve(readings_.size());
  for (const Reading& reading : readings_) all.push_back(reading.step_s);
  const int timed_at_least = std::max(0, warmup_steps_min - untimed_);
  const std::size_t dropped = warmup_readings(all, static_cast<std::size_t>(timed_at_least));

  StepSummary summary;
  summary.times.warmup = untimed_;
  summary.times.skipped = clamped(skipped_);
  double samples = 0;
  bool all_told = true;
  for (std::size_t i = 0; i < readings_.size(); ++i) {
    const Reading& reading = readings_[i];
    (i < dropped ? summary.times.warmup : summary.times.measured) += reading.steps;
    if (i < dropped) continue;
    summary.times.step_s.push_back(reading.step_s);
    samples += reading.samples.value_or(0);
    all_told = all_told && reading.samples.has_value();
  }
  const auto measured = static_cast<double>(summary.times.step_s.size());
  if (all_told && measured > 0) summary.samples = samples / measured;
  summary.step_s = step_interval(summary.times.step_s);
  return summary;
}

}  // namespace slurmtune
