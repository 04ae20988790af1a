// SPDX-License-Identifier: MIT
#include "slurmtune/model/memory/buffers.hpp"

#include <algorithm>

#include "slurmtune/model/memory/model_states.hpp"

namespace slurmtune {

namespace {

double parts_of(const ParallelLayout& layout) {
  return static_cast<double>(layout.tensor * layout.pipeline);
}

double ranks_of(const ParallelLayout& layout) {
  return static_cast<double>(std::max<std::int64_t>(1, layout.sharding_ranks()));
}

}  // namespace

ZeroBuckets fsdp_buckets(const TransformerShape& shape, const ParallelLayout& layout,
                         FsdpEmbeddings embeddings) {
  ZeroBuckets buckets;
  buckets.reduce = 0.0;
  buckets.max_live = 0.0;
  buckets.max_reuse_distance = 0.0;
  buckets.prefetch = 0.0;
  if (!(shape.hidden > 0.0)) return buckets;
  buckets.prefetch = shape.layer_params();
  if (embeddings == FsdpEmbeddings::units) return buckets;
  // An end of a pipeline holds one of the two.
  const double root = layout.pipeline > 1
                          ? shape.vocabulary * shape.hidden
                          : std::max(0.0, shape.params - shape.layers * shape.layer_params());
  buckets.prefetch += root;
  buckets.max_live = root / static_cast<double>(layout.tensor);
  buckets.max_reuse_distance = 2.0 * buckets.max_live;
  return buckets;
}

double reduce_bucket_bytes(double trainable, int zero_stage, const ParallelLayout& layout,
                           const TrainingSetup& setup) {
  const ZeroBuckets& buckets = setup.buckets;
  const bool alone = layout.sharding_ranks() <= 1;
  if (alone && (zero_stage == 0 || !buckets.contiguous_gradients)) return 0.0;
  const double bytes = parameter_bytes(setup.precision, setup.gradients, zero_stage).gradients;
  const double elements = std::min(buckets.reduce, trainable / parts_of(layout));
  const bool overlaps = zero_stage > 0 && buckets.overlap_comm.value_or(zero_stage == 3);
  return bytes * elements * (overlaps ? 2.0 : 1.0);
}

GatheredBytes gathered_bytes(const TransformerShape& shape, int zero_stage,
                             const ParallelLayout& layout, const TrainingSetup& setup) {
  const bool moved = setup.parameters != Placement::gpu;
  if (zero_stage < 3 || (layout.sharding_ranks() <= 1 && !moved)) return {};
  const ZeroBuckets& buckets = setup.buckets;
  const double model = shape.params / parts_of(layout);
  const auto tensor = static_cast<double>(layout.tensor);
  const double layer = shape.hidden > 0.0 ? shape.layer_params() / tensor : 0.0;
  const double output = shape.vocabulary * shape.hidden / tensor;
  const bool stays = model <= std::min(buckets.max_live, buckets.max_reuse_distance);
  const double kept = stays ? model : std::min(buckets.max_live, buckets.max_reuse_distance / 2.0);
  const ParameterBytes bytes = parameter_bytes(setup.precision, setup.gradients, zero_stage);
  const double trained = shape.params > 0.0 ? shape.trainable / shape.params : 1.0;
  const bool whole = setup.gradient_sync == GradientSync::last;
  const double ahead = layer + buckets.prefetch / tensor;
  return {bytes.parameters * std::min(model, std::max(kept, output)),
          bytes.parameters * std::min(model, std::max(kept, ahead)) +
              (whole ? 0.0 : bytes.gradients * trained * layer)};
}

double sequence_buffer_bytes(const TransformerShape& shape, double samples,
                             const ParallelLayout& layout, const TrainingSetup& setup) {
  if (layout.tensor <= 1 || setup.tensor_activations == TensorActivations::replicated) return 0.0;
  const double width = setup.precision == Precision::fp32 ? 4.0 : 2.0;
  const double tokens = samples * shape.sequence / static_cast<double>(layout.sequence);
  return 2.0 * width * tokens * shape.hidden;
}

double step_bytes(double trainable, int zero_stage, const ParallelLayout& layout,
                  const TrainingSetup& setup) {
  constexpr double single = 4.0;
  const ParameterBytes bytes = parameter_bytes(setup.precision, setup.gradients, zero_stage);
  const double own = trainable / parts_of(layout);
  const double shard = zero_stage >= 1 ? own / ranks_of(layout) : own;
  double taken = 0.0;
  const bool converts = bytes.master > 0.0 && bytes.gradients < single;
  if (converts && setup.optimizer_states == Placement::gpu) {
    if (zero_stage == 0) taken = single * own;
    if (zero_stage == 1 || zero_stage == 2) taken = (single + bytes.gradients) * shard;
    if (zero_stage == 3) {
      taken = (single + bytes.gradients) * std::min(shard, setup.buckets.sub_group);
    }
  }
  // Stage 3 keeps its bucket from step to step, where the others release theirs.
  if (zero_stage == 3 && setup.buckets.contiguous_gradients) {
    taken += bytes.gradients * std::min(setup.buckets.reduce, own);
  }
  if (setup.optimizer_step == OptimizerStep::foreach) {
    taken += (bytes.master > 0.0 ? bytes.master : bytes.parameters) * shard;
  }
  return taken;
}

}  // namespace slurmtune
