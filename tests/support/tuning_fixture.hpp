// SPDX-License-Identifier: MIT
#pragma once

// Studies, plans and made-up machines for tests of search, generate and analyze.

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "slurmtune/base/random.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/model/history.hpp"
#include "slurmtune/model/statistics.hpp"
#include "slurmtune/record/manifest.hpp"
#include "slurmtune/record/verdict.hpp"

namespace slurmtune::test {

inline constexpr double gib = 1024.0 * 1024.0 * 1024.0;

/// A DeepSpeed study on 4 ranks whose batch is free and whose accumulation is the user's 2.
inline StudyInput deepspeed_input(std::vector<std::int64_t> micro_batches = {1, 2, 3, 4, 6, 8, 12,
                                                                             16, 24, 32}) {
  StudyInput input;
  input.spec.name = "test";
  input.spec.trial.nodes = 2;
  input.spec.trial.processes_per_node = 2;
  input.spec.trial.command = {"train", "{ds_config}"};
  DeepSpeedSpec deepspeed;
  deepspeed.config_path = "ds_config.json";
  deepspeed.config_json = R"({"fp16":{"enabled":true}})";
  deepspeed.zero_stages = {0, 1, 2, 3};
  deepspeed.zero_stage = 0;
  deepspeed.micro_batch = 1;
  deepspeed.gradient_accumulation = 2;
  input.spec.deepspeed = deepspeed;
  input.spec.batch.micro_batches = std::move(micro_batches);
  input.spec.measure.startup_s = 60.0;
  input.spec.measure.stall_s = 30.0;
  input.spec.measure.max_steps = 20;
  input.site.gpu_bytes = 16.0 * gib;
  return input;
}

/// A study of two integers, x and y, whose throughput is a metric of the trial.
inline StudyInput generic_input() {
  StudyInput input;
  input.spec.name = "generic";
  input.spec.trial.command = {"run", "{p:x}", "{p:y}"};
  for (const std::string name : {"x", "y"}) {
    ParameterSpec parameter;
    parameter.name = name;
    parameter.values = {std::int64_t{1}, std::int64_t{2}, std::int64_t{4}};
    input.spec.parameters.push_back(parameter);
  }
  return input;
}

inline Configuration zero(std::int64_t stage, std::int64_t micro_batch,
                          std::int64_t accumulation = 2) {
  return {{{std::string(zero_stage_parameter), stage},
           {std::string(micro_batch_parameter), micro_batch},
           {std::string(accumulation_parameter), accumulation}}};
}

inline Experiment experiment_of(const Configuration& configuration,
                                Purpose purpose = Purpose::profile, int repeat = 0,
                                int max_steps = 20) {
  Experiment experiment;
  experiment.configuration = configuration;
  experiment.configuration_id = configuration_id(configuration);
  experiment.id = experiment_id(experiment.configuration_id, max_steps, repeat);
  experiment.label = experiment.id.text;
  experiment.purpose = purpose;
  experiment.repeat = repeat;
  experiment.max_steps = max_steps;
  return experiment;
}

inline Manifest manifest_of(const std::string& stage, std::vector<Experiment> experiments) {
  Manifest manifest;
  manifest.stage = {stage};
  manifest.inputs = "sha256:0";
  manifest.task_walltime_s = 600;
  manifest.slices = {{0, static_cast<std::int64_t>(experiments.size())}};
  manifest.experiments = std::move(experiments);
  return manifest;
}

inline Interval about(double middle, double relative = 0.005) {
  return {middle * (1.0 - relative), middle, middle * (1.0 + relative)};
}

/// A verdict of an experiment that ran, with throughput in samples/s.
inline Verdict ok(const Experiment& experiment, double throughput) {
  Verdict verdict;
  verdict.experiment = experiment.id;
  verdict.configuration = experiment.configuration_id;
  verdict.attempt = experiment.attempt;
  verdict.outcome = Outcome::ok;
  verdict.reason = "max_steps";
  verdict.metrics.throughput = about(throughput);
  return verdict;
}

inline Verdict failed(const Experiment& experiment, Outcome outcome, std::string line = "") {
  Verdict verdict;
  verdict.experiment = experiment.id;
  verdict.configuration = experiment.configuration_id;
  verdict.attempt = experiment.attempt;
  verdict.outcome = outcome;
  verdict.reason = "test";
  if (!line.empty()) verdict.evidence = Evidence{};
  if (!line.empty()) verdict.evidence->line = std::move(line);
  return verdict;
}

/// What a ZeRO stage costs on a made-up machine.
struct StageCost {
  double static_bytes = 0.0;
  double bytes_a_sample = 0.0;
  double fixed_s = 0.0;   ///< of each micro-step
  double sample_s = 0.0;  ///< of each sample of a micro-batch
};

/// A machine with a memory limit and affine step times, with noise from run to run.
struct Machine {
  double gpu_bytes = 16.0 * gib;
  std::map<std::int64_t, StageCost> stages;
  std::int64_t ranks = 4;
  double noise = 0.005;
  double hidden_bytes = 0.0;  ///< taken from every GPU, and in no peak that is told
  bool tells_memory = true;
  /// Overrides what would happen, if it returns something.
  std::function<std::optional<Verdict>(const Experiment&)> whim;

  [[nodiscard]] const StageCost& cost(const Configuration& configuration) const {
    return stages.at(*configuration.integer(zero_stage_parameter));
  }
  [[nodiscard]] double peak(const Configuration& configuration) const {
    const auto micro_batch = static_cast<double>(*configuration.integer(micro_batch_parameter));
    return cost(configuration).static_bytes + cost(configuration).bytes_a_sample * micro_batch;
  }
  [[nodiscard]] bool fits(const Configuration& configuration) const {
    return peak(configuration) + hidden_bytes <= gpu_bytes;
  }
  [[nodiscard]] double step_s(const Configuration& configuration) const {
    const auto micro_batch = static_cast<double>(*configuration.integer(micro_batch_parameter));
    const auto accumulation = static_cast<double>(*configuration.integer(accumulation_parameter));
    return accumulation *
           (cost(configuration).fixed_s + cost(configuration).sample_s * micro_batch);
  }
  [[nodiscard]] std::int64_t global_batch(const Configuration& configuration) const {
    return *configuration.integer(micro_batch_parameter) *
           *configuration.integer(accumulation_parameter) * ranks;
  }
  /// 0 if it does not fit.
  [[nodiscard]] double true_throughput(const Configuration& configuration) const {
    if (!fits(configuration)) return 0.0;
    return static_cast<double>(global_batch(configuration)) / step_s(configuration);
  }

  [[nodiscard]] Verdict run(const Experiment& experiment, Random& chance) const {
    if (whim) {
      if (auto verdict = whim(experiment)) return *std::move(verdict);
    }
    const Configuration& configuration = experiment.configuration;
    if (!fits(configuration)) {
      Verdict verdict = failed(experiment, Outcome::gpu_oom, "CUDA out of memory");
      verdict.hardware.gpu_bytes = gpu_bytes;
      return verdict;
    }
    const double step = step_s(configuration) * std::exp(noise * draw_normal(chance));
    const auto samples = static_cast<double>(global_batch(configuration));
    Verdict verdict = ok(experiment, samples / step);
    verdict.metrics.step_s = about(step);
    verdict.metrics.global_batch = global_batch(configuration);
    if (tells_memory) {
      verdict.metrics.peak_gpu_bytes = peak(configuration);
      verdict.hardware.gpu_bytes = gpu_bytes;
    }
    return verdict;
  }
};

/// Stage 0 is the fastest and fits least; stage 3 fits most and is the slowest.
inline Machine usual_machine() {
  Machine machine;
  machine.stages = {{0, {11.0 * gib, 1.6 * gib, 0.020, 0.010}},
                    {1, {6.0 * gib, 1.6 * gib, 0.022, 0.010}},
                    {2, {4.0 * gib, 1.6 * gib, 0.027, 0.0105}},
                    {3, {2.0 * gib, 1.6 * gib, 0.060, 0.0125}}};
  return machine;
}

}  // namespace slurmtune::test
