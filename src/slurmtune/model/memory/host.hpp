// SPDX-License-Identifier: MIT
#pragma once

#include "slurmtune/model/memory/training_setup.hpp"
#include "slurmtune/model/memory/transformer_shape.hpp"

namespace slurmtune {

/// Bytes of host memory that the processes of one node take: the larger of two moments.
///
/// While they load: each process builds the model in 32 bits (4 bytes a parameter; in 16 bits with
/// Precision::bf16_only), unless parameters are offloaded, which needs zero.Init.
///
/// While they train: what is offloaded to the CPU, with 32-bit gradients where the optimizer is (16
/// bytes a parameter with Adam, 18 with parameters), times 1.5 for buffers; activations of
/// cpu_checkpointing; the pinned buffers of parameters (5 x 1e8 elements a process, buffer_count
/// and buffer_size of offload_param) and of NVMe (4 tensors of the largest layer). Both with 2 GiB
/// for each process itself. Sources: DeepSpeed 0.14, runtime/zero/stage_1_and_2.py and stage3.py
/// (estimate_zero*_model_states_mem_needs: the 16, 18, 4 and 1.5), runtime/zero/offload_config.py.
[[nodiscard]] double host_bytes_per_node(const TransformerShape& shape, int zero_stage,
                                         double micro_batch, const ParallelLayout& layout,
                                         const TrainingSetup& setup);

}  // namespace slurmtune
