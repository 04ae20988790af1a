// SPDX-License-Identifier: MIT
#include "slurmtune/model/memory/host.hpp"

#include <algorithm>

#include "slurmtune/model/memory/activations.hpp"
#include "slurmtune/model/memory/model_states.hpp"

namespace slurmtune {

double host_bytes_per_node(const TransformerShape& shape, int zero_stage, double micro_batch,
                           const ParallelLayout& layout, const TrainingSetup& setup) {
  constexpr double gib = 1024.0 * 1024.0 * 1024.0;
  constexpr double of_process = 2.0 * gib;
  constexpr double for_buffers = 1.5;
  constexpr double single = 4.0;
  const auto processes = static_cast<double>(layout.processes_per_node);
  const auto nodes = static_cast<double>(layout.nodes);
  const StateBytes bytes = state_bytes_per_parameter(setup, zero_stage);

  const bool params_moved = setup.parameters != Placement::gpu && zero_stage == 3;
  double loading = 0.0;
  if (!params_moved) {
    const double each = setup.precision == Precision::bf16_only ? bytes.parameters : single;
    loading = each * shape.params / static_cast<double>(layout.tensor * layout.pipeline);
  }

  double offloaded = 0.0;
  double buffers = 0.0;
  const double layer = shape.largest_layer();
  if (setup.optimizer_states == Placement::cpu) {
    offloaded += (bytes.optimizer + single) * shape.trainable / nodes;
  } else if (setup.optimizer_states == Placement::nvme) {
    constexpr double buffer_count = 4.0;
    buffers += buffer_count * layer * bytes.optimizer;
  }
  if (params_moved) {
    constexpr double elements = 5.0 * 1e8;
    if (setup.parameters == Placement::cpu) offloaded += bytes.parameters * shape.params / nodes;
    buffers += elements * bytes.parameters;
  }
  const double checkpoints = activation_bytes(shape, micro_batch, layout, setup).host;
  const double training =
      offloaded * for_buffers + processes * (of_process + buffers + checkpoints);
  return std::max(processes * (of_process + loading), training);
}

}  // namespace slurmtune
