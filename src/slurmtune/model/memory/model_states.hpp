// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "slurmtune/model/memory/training_setup.hpp"

namespace slurmtune {

/// Bytes for each parameter of the model, before sharding.
struct StateBytes {
  double parameters = 0.0;
  double gradients = 0.0;
  double optimizer = 0.0;  ///< states and 32-bit masters
};

/// Mixed Adam: 2 + 2 + 12; 32-bit Adam: 4 + 4 + 8. Sources: precision.hpp, optimizer_states.hpp.
[[nodiscard]] StateBytes state_bytes_per_parameter(const TrainingSetup& setup, int zero_stage);

/// Bytes of model states on one GPU.
struct ModelStates {
  double parameters = 0.0;
  double gradients = 0.0;
  double optimizer = 0.0;

  [[nodiscard]] double total() const { return parameters + gradients + optimizer; }
};

/// Stage 1 shards the optimizer's states, stage 2 the gradients too, stage 3 the parameters too;
/// tensor and pipeline parallelism divide all three. Frozen parameters (`params - trainable`) have
/// neither gradients nor states. What is offloaded takes none; with the optimizer's states the
/// gradients of stages 1 to 3 go too (ZeRO-Offload). Sources: Rajbhandari et al., "ZeRO", SC20,
/// figure 1 and table 1; Ren et al., "ZeRO-Offload", USENIX ATC 2021, section 4.1.
[[nodiscard]] ModelStates model_states(double params, double trainable, int zero_stage,
                                       const ParallelLayout& layout, const TrainingSetup& setup);

/// The sum for a model of which everything is trained, sharded over `data_parallel` ranks.
[[nodiscard]] double model_state_bytes(double params, int zero_stage, std::int64_t data_parallel,
                                       const TrainingSetup& setup);

}  // namespace slurmtune
