// SPDX-License-Identifier: MIT
#pragma once

#include "slurmtune/model/memory/training_setup.hpp"
#include "slurmtune/model/memory/transformer_shape.hpp"

namespace slurmtune {

/// Where FSDP has what no layer holds, the embeddings: in its root unit, where an ordinary wrapping
/// of the layers leaves them, or in units of their own.
enum class FsdpEmbeddings { root, units };

/// FSDP in the words of ZeRO 3: gradients are reduced where they are made, parameters are gathered
/// a layer at a time and one ahead; the root's are gathered once, and stay from its forward to the
/// end of backward. Sources: Zhao et al., "PyTorch FSDP", VLDB 2023, section 3; PyTorch,
/// distributed/fsdp/_runtime_utils.py (_post_forward: the root is not resharded).
[[nodiscard]] ZeroBuckets fsdp_buckets(const TransformerShape& shape, const ParallelLayout& layout,
                                       FsdpEmbeddings embeddings);

/// Bytes of the buckets in which gradients are reduced: `reduce_bucket_size` elements, or the
/// trainable parameters of a rank where these are fewer; twice with overlap_comm, of which one is
/// filled while the other is on its way. Without contiguous_gradients, and at stage 0, the bucket
/// is copied out of the gradients, which takes as much. allgather_bucket_size takes none: what is
/// gathered goes to its place. None on one rank but for the contiguous bucket itself. Source:
/// DeepSpeed 0.14, runtime/zero/stage_1_and_2.py (reduce_independent_p_g_buckets_and_remove_grads,
/// ipg_buffer), stage3.py, runtime/engine.py (buffered_allreduce_fallback).
[[nodiscard]] double reduce_bucket_bytes(double trainable, int zero_stage,
                                         const ParallelLayout& layout, const TrainingSetup& setup);

/// Bytes of parameters that stage 3 holds gathered, and of their gradients before these are
/// reduced; 0 in the other stages.
struct GatheredBytes {
  double loss = 0.0;      ///< at the turn from forward to backward
  double backward = 0.0;  ///< while a layer's backward runs
};

/// All of a model smaller than stage3_max_live_parameters and stage3_max_reuse_distance stays
/// gathered. Else, what is used again within max_reuse_distance (half of it lies before the turn);
/// at the turn at least the output embedding, in backward a layer, what is prefetched, and the
/// layer's gradients. Sources: DeepSpeed 0.14, runtime/zero/partitioned_param_coordinator.py
/// (fetch_sub_module, release_sub_module); Zhao et al., as above.
[[nodiscard]] GatheredBytes gathered_bytes(const TransformerShape& shape, int zero_stage,
                                           const ParallelLayout& layout,
                                           const TrainingSetup& setup);

/// Bytes of the buffers into which Megatron's sequence parallelism gathers a layer's input, and
/// scatters its gradient: 2 s b h each. Source: Megatron-LM, core/tensor_parallel/layers.py
/// (get_global_memory_buffer); Korthikanti et al., section 4.2.2.
[[nodiscard]] double sequence_buffer_bytes(const TransformerShape& shape, double samples,
                                           const ParallelLayout& layout,
                                           const TrainingSetup& setup);

/// Bytes that the optimizer's step takes beside the states: 32-bit gradients of the whole model at
/// stage 0 with fp16; of the partition at stages 1 and 2, of a sub-group at stage 3, each beside
/// the 16-bit ones flattened; stage 3's bucket, which is made once and stays; a copy of the
/// parameters for torch's `foreach`. Sources: DeepSpeed 0.14, runtime/fp16/fused_optimizer.py,
/// runtime/zero/stage_1_and_2.py (step, _release_ipg_buffers), stage3.py
/// (_prepare_fp32_grad_for_sub_group, __ipg_bucket_flat_buffer); PyTorch's documentation of AdamW,
/// on `foreach`.
[[nodiscard]] double step_bytes(double trainable, int zero_stage, const ParallelLayout& layout,
                                const TrainingSetup& setup);

}  // namespace slurmtune
