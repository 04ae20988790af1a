// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <limits>
#include <optional>

#include "slurmtune/model/memory/optimizer_states.hpp"
#include "slurmtune/model/memory/precision.hpp"

namespace slurmtune {

/// Where the states of training lie that ZeRO-Offload and ZeRO-Infinity can move off the GPU.
enum class Placement { gpu, cpu, nvme };

/// What of a layer's activations is kept for the backward pass.
enum class Checkpointing {
  none,       ///< all
  selective,  ///< all but the attention's own (Korthikanti et al., section 5)
  operators,  ///< the attention's result and every second matrix product's (torch's selective
              ///< checkpointing by operator)
  full,       ///< a layer's input only
};

/// Whether the attention writes its matrix of scores to memory.
enum class Attention { flash, materialised };

/// Whether a rank of a tensor-parallel group holds all tokens between the layers.
enum class TensorActivations { replicated, sequence_parallel };

/// When the data-parallel ranks add up their gradients: at every micro-step, or at the last one of
/// a step, until when each rank keeps gradients of all parameters (FSDP's no_sync).
enum class GradientSync { each, last };

/// ZeRO's own memory, in elements; DeepSpeed's defaults. Source: DeepSpeed 0.14,
/// runtime/zero/config.py.
struct ZeroBuckets {
  double reduce = 5e8;
  double prefetch = 5e7;
  double persistence_threshold = 1e5;
  double max_live = 1e9;
  double max_reuse_distance = 1e9;
  double sub_group = 1e9;
  std::optional<bool> overlap_comm;  ///< absent = at stage 3 only
  bool contiguous_gradients = true;

  bool operator==(const ZeroBuckets&) const = default;
};

/// What memory depends on besides the model, the ranks and the micro-batch.
struct TrainingSetup {
  Precision precision = Precision::fp32;
  GradientType gradients = GradientType::automatic;
  OptimizerKind optimizer = OptimizerKind::adam;
  OptimizerStep optimizer_step = OptimizerStep::fused;
  Placement optimizer_states = Placement::gpu;
  Placement parameters = Placement::gpu;  ///< stage 3 only
  Checkpointing checkpointing = Checkpointing::none;
  Placement checkpoints = Placement::gpu;
  Attention attention = Attention::flash;
  TensorActivations tensor_activations = TensorActivations::replicated;
  GradientSync gradient_sync = GradientSync::each;
  ZeroBuckets buckets;

  bool operator==(const TrainingSetup&) const = default;
};

/// How the ranks divide the work. What is left of them beside tensor, pipeline and sequence is
/// data-parallel.
struct ParallelLayout {
  std::int64_t nodes = 1;
  std::int64_t processes_per_node = 1;
  std::int64_t tensor = 1;
  std::int64_t pipeline = 1;
  std::int64_t sequence = 1;
  /// Micro-batches of a step; 0 = at least as many as a pipeline has stages.
  std::int64_t micro_batches = 0;

  [[nodiscard]] std::int64_t ranks() const { return nodes * processes_per_node; }
  /// Ranks that hold the same part of the model: ZeRO shards over them, sequence-parallel ones
  /// included (Jacobs et al., DeepSpeed-Ulysses, arXiv:2309.14509, section 3).
  [[nodiscard]] std::int64_t sharding_ranks() const { return ranks() / (tensor * pipeline); }
  [[nodiscard]] std::int64_t data_parallel() const { return sharding_ranks() / sequence; }

  /// Micro-batches of which a pipeline's first stage holds activations (1F1B).
  [[nodiscard]] std::int64_t in_flight() const {
    return micro_batches > 0 && micro_batches < pipeline ? micro_batches : pipeline;
  }

  bool operator==(const ParallelLayout&) const = default;
};

}  // namespace slurmtune
