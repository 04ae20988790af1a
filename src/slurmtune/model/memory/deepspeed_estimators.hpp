// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

namespace slurmtune {

/// Which of DeepSpeed's formulas: the one at stage 2 without offload has changed.
enum class EstimatorEdition {
  current,     ///< 0.14: 2 bytes a parameter, and 18 of which each GPU has its share
  documented,  ///< whose output the documentation still shows: 4 bytes, and 16
};

/// What DeepSpeed's own estimators are asked.
struct EstimatorQuestion {
  double total_params = 0.0;
  double largest_layer_params = 0.0;  ///< stage 3 only: of the largest module itself
  std::int64_t gpus_per_node = 1;
  std::int64_t nodes = 1;
  bool offload_optimizer = true;
  bool offload_param = true;  ///< stage 3 only
  bool zero_init = true;      ///< stage 3 only: the model is built under deepspeed.zero.Init
  double additional_buffer_factor = 1.5;
  EstimatorEdition edition = EstimatorEdition::current;  ///< stage 2 only
};

/// Whole bytes, cut off as DeepSpeed does.
struct EstimatedNeeds {
  std::int64_t cpu_bytes = 0;  ///< of a node
  std::int64_t gpu_bytes = 0;
};

/// The figures of estimate_zero2_model_states_mem_needs, to the byte: model states with 16-bit
/// Adam, no activations and no buffers. Sources: DeepSpeed 0.14, runtime/zero/stage_1_and_2.py;
/// docs/code-docs/source/memory.rst for the documented edition.
[[nodiscard]] EstimatedNeeds estimate_zero2_model_states_mem_needs(const EstimatorQuestion& asked);

/// The same of estimate_zero3_model_states_mem_needs. Source: DeepSpeed 0.14, runtime/zero/
/// stage3.py.
[[nodiscard]] EstimatedNeeds estimate_zero3_model_states_mem_needs(const EstimatorQuestion& asked);

}  // namespace slurmtune
