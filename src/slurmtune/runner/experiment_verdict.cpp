// SPDX-License-Identifier: MIT
#include "slurmtune/runner/experiment_verdict.hpp"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/runner/measure/speed.hpp"

namespace slurmtune {

namespace {

/// Above it doubles are no longer whole numbers one apart, and far above no integers at all.
constexpr double samples_max = 9e15;

std::string source_name(MeasureSource source) {
  switch (source) {
    case MeasureSource::deepspeed: return "deepspeed";
    case MeasureSource::hf: return "hf";
    case MeasureSource::megatron: return "megatron";
    case MeasureSource::nanotron: return "nanotron";
    case MeasureSource::torchtitan: return "torchtitan";
    case MeasureSource::metrics_file: return "metrics_file";
    case MeasureSource::pattern: return "pattern";
  }
  return {};
}

/// What the runner saw itself. Under srun the ranks are not its descendants: of their host memory
/// it knows nothing. The trial's own word about GPU memory stands; NVML's is beside it.
void add_usage(const TrialFrame& frame, const NodeUsage& usage, Metrics& metrics) {
  if (frame.launcher.starts_on_every_node() && usage.peak_host_bytes.value_or(0.0) > 0) {
    metrics.peak_host_bytes = usage.peak_host_bytes;
  }
  if (!metrics.peak_gpu_bytes) metrics.peak_gpu_bytes = usage.peak_gpu_bytes;
  const auto note = [&](const char* name, const std::optional<double>& value) {
    if (value) metrics.user[name] = *value;
  };
  note("nvml_peak_gpu_bytes", usage.peak_gpu_bytes);
  note("gpu_utilisation", usage.gpu_utilisation);
  note("sm_clock_hz", usage.sm_clock_hz);
}

Metrics metrics_of(const TrialFrame& frame, const Experiment& experiment, const TrialResult& result,
                   const StepSummary& summary) {
  const StepMeter& meter = result.meter;
  Metrics metrics;
  metrics.step_s = summary.step_s;
  metrics.peak_gpu_bytes = meter.peak_gpu_bytes();
  add_usage(frame, result.usage, metrics);
  metrics.params = meter.params();
  for (const auto& [name, value] : meter.user()) metrics.user[name] = value;
  metrics.global_batch = global_batch_of(frame.files.input.spec, experiment.configuration);
  if (summary.samples && *summary.samples < samples_max) {
    metrics.global_batch = std::llround(*summary.samples);
  }
  if (summary.step_s && (summary.samples || metrics.global_batch)) {
    const double samples =
        summary.samples ? *summary.samples : static_cast<double>(metrics.global_batch.value_or(0));
    metrics.throughput = Interval{samples / summary.step_s->high, samples / summary.step_s->mid,
                                  samples / summary.step_s->low};
  }
  return metrics;
}

/// The FLOP/s of the trial, and what cannot be believed of what it reported.
void judge_speed_of(Verdict& verdict, const TrialFrame& frame, const StepMeter& meter,
                    const StepSummary& summary) {
  const StudySpec& spec = frame.files.input.spec;
  SpeedInput input;
  if (summary.step_s) input.step_s = summary.step_s->mid;
  input.arrival_step_s = meter.arrival_step_s();
  input.samples = summary.samples;
  if (!input.samples && verdict.metrics.global_batch) {
    input.samples = static_cast<double>(*verdict.metrics.global_batch);
  }
  input.told_flops_per_gpu = meter.flops_per_gpu();
  input.gpus = static_cast<double>(spec.ranks());
  input.shape = shape_of(spec.model, meter.shape());
  input.gpu = verdict.hardware.gpu;
  const Speed speed = judge_speed(input);
  verdict.metrics.flops_per_gpu = speed.flops_per_gpu;
  const std::string refused = describe_refused(meter);
  if (!refused.empty()) verdict.note = "refused: " + refused;
  if (!speed.note.empty()) verdict.note += (refused.empty() ? "" : "; ") + speed.note;
  if (!speed.impossible_times || verdict.outcome != Outcome::ok) return;
  verdict.outcome = Outcome::config_error;
  verdict.reason = "impossible_times";
  verdict.evidence.emplace();
  verdict.evidence->line = fmt::format(
      "the trial tells steps of {:.3g} s, but by the arrival of its reports one takes {:.3g} s; {}",
      *input.step_s, *input.arrival_step_s, speed.note);
  verdict.metrics.step_s.reset();
  verdict.metrics.throughput.reset();
}

}  // namespace

Verdict blank_verdict(const TrialFrame& frame, const Experiment& experiment, Instant at) {
  Verdict verdict;
  verdict.experiment = experiment.id;
  verdict.configuration = experiment.configuration_id;
  verdict.attempt = experiment.attempt;
  verdict.lane = frame.lane;
  verdict.nodes = frame.nodes;
  verdict.started = at;
  verdict.ended = at;
  verdict.hardware = frame.hardware;
  // The user's word about what one rank may use stands.
  if (frame.files.input.site.gpu_bytes) {
    verdict.hardware.gpu_bytes = frame.files.input.site.gpu_bytes;
  }
  verdict.source = source_name(frame.files.input.spec.measure.source);
  return verdict;
}

Verdict verdict_of(const TrialFrame& frame, const Experiment& experiment, const TrialResult& result,
                   Instant started, Instant ended) {
  Verdict verdict = blank_verdict(frame, experiment, started);
  verdict.ended = ended;
  verdict.outcome = result.verdict.outcome;
  verdict.reason = result.verdict.reason;
  verdict.evidence = result.verdict.evidence;
  verdict.startup_s = result.startup_s;
  verdict.wall_s = result.wall_s;
  if (result.meter.channel() == StepChannel::metrics) {
    verdict.source = source_name(MeasureSource::metrics_file);
  }
  const StepSummary summary = result.meter.summary();
  verdict.steps = summary.times;
  verdict.metrics = metrics_of(frame, experiment, result, summary);
  if (result.meter.gpu_bytes()) verdict.hardware.gpu_bytes = result.meter.gpu_bytes();
  judge_speed_of(verdict, frame, result.meter, summary);
  if (verdict.evidence) {
    verdict.evidence->log = "logs/" + attempt_name(experiment) + ".log";
    if (verdict.evidence->node.empty() && verdict.nodes.size() == 1) {
      verdict.evidence->node = verdict.nodes.front();
    }
  }
  return writable(std::move(verdict));
}

Verdict verdict_without_trial(const TrialFrame& frame, const Experiment& experiment,
                              Outcome outcome, std::string reason, std::string line, Instant at) {
  Verdict verdict = blank_verdict(frame, experiment, at);
  verdict.outcome = outcome;
  verdict.reason = std::move(reason);
  if (!line.empty()) {
    verdict.evidence.emplace();
    verdict.evidence->line = std::move(line);
  }
  return verdict;
}

}  // namespace slurmtune
