// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "slurmtune/input/study_spec.hpp"
#include "slurmtune/model/step_flops.hpp"
#include "slurmtune/runner/measure/step_meter.hpp"

namespace slurmtune {

/// The measured steps of a trial, and what they ran on.
struct SpeedInput {
  std::optional<double> step_s;              ///< as measured
  std::optional<double> arrival_step_s;      ///< by the arrival of reports
  std::optional<double> samples;             ///< of a step, over all GPUs
  std::optional<double> told_flops_per_gpu;  ///< by the trial
  double gpus = 1.0;
  ModelShape shape;
  std::string gpu;  ///< its name; "" = unknown
};

/// What is believed of a trial's FLOP/s.
struct Speed {
  std::optional<double> flops_per_gpu;
  std::string note;  ///< what was refused, and why; "" = nothing
  /// The step times that the trial told cannot be: they are beyond the GPU's peak, while its
  /// reports arrive at a pace that is not. Nothing of its speed may be believed.
  bool impossible_times = false;
};

/// The achieved FLOP/s: counted from the model's shape (step_flops.hpp) where it is known, else as
/// the trial told. A figure above the GPU's peak is refused where that is known.
[[nodiscard]] Speed judge_speed(const SpeedInput& input);

/// The shape from the study's [model], each fact that it lacks from the trial.
[[nodiscard]] ModelShape shape_of(const ModelSpec& model, const ModelShape& told);

/// `step_s 3 times (last -1), samples once (0)`; "" if nothing was refused.
[[nodiscard]] std::string describe_refused(const StepMeter& meter);

}  // namespace slurmtune
