// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "slurmtune/input/study_input.hpp"
#include "slurmtune/model/history.hpp"
#include "slurmtune/model/statistics.hpp"

namespace slurmtune {

/// 16-bit parameters and gradients with 32-bit masters in the optimizer, or all 32-bit.
enum class Precision { mixed, full };

/// What the optimizer keeps for each parameter, 32-bit each.
enum class OptimizerKind {
  adam,      ///< two moments
  momentum,  ///< one
  plain,     ///< none
};

/// Where the states of training lie that ZeRO-Offload can move off the GPU.
enum class Placement { gpu, elsewhere };

/// What memory depends on besides the micro-batch.
struct TrainingSetup {
  Precision precision = Precision::full;
  OptimizerKind optimizer = OptimizerKind::adam;
  Placement optimizer_states = Placement::gpu;
  Placement parameters = Placement::gpu;  ///< stage 3 only

  bool operator==(const TrainingSetup&) const = default;
};

/// Reads precision, optimizer and offload from the user's ds_config. "auto" precision counts as
/// mixed, an optimizer that the config does not name as Adam.
[[nodiscard]] TrainingSetup training_setup(const DeepSpeedSpec& spec);

/// Bytes for each parameter of the model, before sharding.
struct StateBytes {
  double parameters = 0.0;
  double gradients = 0.0;
  double optimizer = 0.0;
};

/// Mixed Adam: 2 + 2 + 12; 32-bit Adam: 4 + 4 + 8. Source: Rajbhandari, Rasley, Ruwase, He, "ZeRO:
/// Memory Optimizations Toward Training Trillion Parameter Models", SC20, section 3.1.
[[nodiscard]] StateBytes state_bytes_per_parameter(Precision precision, OptimizerKind optimizer);

/// Bytes of model states on each GPU: stage 1 shards the optimizer's states over the data-parallel
/// ranks, stage 2 the gradients too, stage 3 the parameters too; what is placed elsewhere takes
/// none. Activations, buffers and fragments come on top. Source: as above, figure 1 and table 1.
[[nodiscard]] double model_state_bytes(double params, int zero_stage, std::int64_t data_parallel,
                                       const TrainingSetup& setup);

/// The model's parameters: the user's figure, else what a trial told (the largest).
[[nodiscard]] std::optional<double> model_params(const StudySpec& spec, const History& history);

/// Memory that one rank may use, in bytes: the smallest that verdicts report, else the site's.
[[nodiscard]] std::optional<double> gpu_capacity(const Site& site, const History& history);

/// Why a ZeRO stage cannot fit whatever its micro-batch, with figures; empty if it may, or if
/// parameters or capacity are unknown: `model states need 18.0 GiB of 16.0 GiB (…)`.
[[nodiscard]] std::string cannot_fit(const StudySpec& spec, const Site& site,
                                     const History& history, int zero_stage);

/// Probability that a micro-batch whose peak the fit predicts fits into `capacity` bytes.
/// The allocator needs room that no peak shows, 4 % give or take 3 %; away from the points the
/// slope may be wrong by 5 %.
[[nodiscard]] double fit_probability(const AffineFit& fit, double micro_batch, double capacity);

}  // namespace slurmtune
