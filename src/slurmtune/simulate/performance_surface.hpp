// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "slurmtune/base/random.hpp"
#include "slurmtune/input/study_spec.hpp"
#include "slurmtune/model/memory_model.hpp"
#include "slurmtune/record/experiment.hpp"
#include "slurmtune/record/verdict.hpp"

namespace slurmtune {

/// What a configuration does, without noise.
struct SurfacePoint {
  Outcome outcome = Outcome::ok;
  double step_s = 1.0;          ///< one training step, accumulation included
  double startup_s = 10.0;      ///< from start to the first finished step
  double fails_after_s = 8.0;   ///< from start to its end, where the outcome is not ok
  double peak_gpu_bytes = 0.0;  ///< 0 = not measured
  double gpu_bytes = 0.0;       ///< of the GPU; 0 = not measured
  std::int64_t global_batch = 1;
  std::string line{};  ///< what a failing trial says last
};

/// A performance surface: any function of a configuration.
using Surface = std::function<SurfacePoint(const Configuration&)>;

/// A surface by table; what is not in it is `otherwise`.
[[nodiscard]] Surface table_surface(std::map<Configuration, SurfacePoint> table,
                                    SurfacePoint otherwise);

/// What a knob's value does to a trial.
struct KnobEffect {
  double time_factor = 1.0;  ///< on the step
  double more_bytes = 0.0;   ///< of GPU memory; negative = it eases memory
};

/// A training job as the models see one (design.md, section 6): what memory and time are made of.
struct TrainingFacts {
  double params = 1e9;
  TrainingSetup setup;
  std::int64_t data_parallel = 8;
  double gpu_bytes = 16e9;                                  ///< of one rank; more is gpu_oom
  double activation_bytes = 1e9;                            ///< of one sample
  double fixed_bytes = 1e9;                                 ///< buffers, context, fragments
  double fixed_s = 0.05;                                    ///< each micro-step, whatever its size
  double per_sample_s = 0.02;                               ///< each sample of a micro-step
  double step_overhead_s = 0.1;                             ///< each step: optimizer, reduction
  std::vector<double> stage_factor{1.0, 0.98, 1.05, 1.25};  ///< time of a step, by ZeRO stage
  double startup_s = 20.0;
  /// What knobs do, by name and value as text (`zero_optimization.overlap_comm`, `true`).
  std::map<std::pair<std::string, std::string>, KnobEffect> knobs;
};

/// Steps and memory of a training job by zero_stage, micro_batch, gradient_accumulation and knobs.
[[nodiscard]] Surface training_surface(TrainingFacts facts);

/// How much measurements scatter; relative standard deviations.
struct SurfaceNoise {
  double run_to_run = 0.01;
  double step_to_step = 0.02;
  std::map<std::string, double> slow_nodes;  ///< node -> factor on the step time; 1 = as others
};

/// Where and when a trial runs.
struct RunPlace {
  std::vector<std::string> nodes;
  int lane = 0;
  Instant started;
};

/// Gives verdicts as a runner on a real cluster does. Noise follows from the seed, the experiment
/// and its attempt alone: neither order nor time has any influence.
class PerformanceSurface {
 public:
  PerformanceSurface(Surface surface, SurfaceNoise noise, Seed seed)
      : surface_(std::move(surface)), noise_(std::move(noise)), seed_(seed) {}

  /// The experiment's verdict, its limits kept: a slow trial is a timeout, a silent one a hang.
  [[nodiscard]] Verdict run(const Experiment& experiment, const RunPlace& place) const;

  [[nodiscard]] SurfacePoint at(const Configuration& configuration) const {
    return surface_(configuration);
  }

 private:
  Surface surface_;
  SurfaceNoise noise_;
  Seed seed_;
};

}  // namespace slurmtune
