// SPDX-License-Identifier: MIT
#include "slurmtune/model/memory/model_states.hpp"

#include <algorithm>

namespace slurmtune {

StateBytes state_bytes_per_parameter(const TrainingSetup& setup, int zero_stage) {
  const ParameterBytes bytes = parameter_bytes(setup.precision, setup.gradients, zero_stage);
  return {bytes.parameters, bytes.gradients,
          bytes.master + optimizer_state_bytes(setup.optimizer, setup.precision)};
}

ModelStates model_states(double params, double trainable, int zero_stage,
                         const ParallelLayout& layout, const TrainingSetup& setup) {
  const StateBytes bytes = state_bytes_per_parameter(setup, zero_stage);
  const auto ranks = static_cast<double>(std::max<std::int64_t>(1, layout.sharding_ranks()));
  const auto parts = static_cast<double>(layout.tensor * layout.pipeline);
  ModelStates states{params * bytes.parameters / parts, trainable * bytes.gradients / parts,
                     trainable * bytes.optimizer / parts};
  // Without ZeRO, DeepSpeed's BF16_Optimizer partitions its masters and states all the same.
  const bool bf16_optimizer =
      zero_stage == 0 && setup.precision == Precision::bf16 && bytes.gradients > 2.0;
  if (zero_stage >= 1 || bf16_optimizer) states.optimizer /= ranks;
  if (zero_stage >= 2 && setup.gradient_sync == GradientSync::each) states.gradients /= ranks;
  if (zero_stage >= 3) states.parameters /= ranks;
  if (setup.optimizer_states != Placement::gpu) {
    states.optimizer = 0.0;
    if (zero_stage >= 1 && setup.gradient_sync == GradientSync::each) states.gradients = 0.0;
  }
  if (setup.parameters != Placement::gpu && zero_stage == 3) states.parameters = 0.0;
  return states;
}

double model_state_bytes(double params, int zero_stage, std::int64_t data_parallel,
                         const TrainingSetup& setup) {
  ParallelLayout layout;
  layout.nodes = data_parallel;
  return model_states(params, params, zero_stage, layout, setup).total();
}

}  // namespace slurmtune
