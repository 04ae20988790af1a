// SPDX-License-Identifier: MIT
#include "slurmtune/model/layout/layout_memory.hpp"

#include <algorithm>
#include <cmath>

#include "slurmtune/model/memory/buffers.hpp"
#include "slurmtune/model/memory/model_states.hpp"
#include "slurmtune/model/statistics.hpp"

namespace slurmtune {

namespace {

std::int64_t whole(double degree) {
  return std::max<std::int64_t>(1, std::llround(std::min(degree, 1e9)));
}

ParallelLayout parallel_layout(const TrainingLayout& layout) {
  ParallelLayout parallel;
  parallel.tensor = whole(layout.tensor);
  parallel.pipeline = whole(layout.pipeline);
  parallel.sequence = whole(layout.sequence);
  parallel.processes_per_node =
      whole(layout.data) * parallel.tensor * parallel.pipeline * parallel.sequence;
  parallel.micro_batches = whole(layout.micro_batches);
  return parallel;
}

TrainingSetup setup_of(const LayoutFacts& facts, const TrainingLayout& layout,
                       const ParallelLayout& parallel, const TransformerShape& shape) {
  TrainingSetup setup = facts.setup;
  setup.checkpointing = layout.checkpointing >= 1.5   ? Checkpointing::full
                        : layout.checkpointing >= 0.5 ? Checkpointing::selective
                                                      : Checkpointing::none;
  if (setup.checkpointing == Checkpointing::selective && setup.attention == Attention::flash) {
    // Without a matrix of scores there is nothing to select in the attention: by operator.
    setup.checkpointing = Checkpointing::operators;
  }
  setup.optimizer_states = layout.offload >= 0.5 ? Placement::cpu : Placement::gpu;
  setup.parameters = layout.offload >= 1.5 ? Placement::cpu : Placement::gpu;
  if (layout.tensor_sequence) setup.tensor_activations = TensorActivations::sequence_parallel;
  if (layout.zero_stage >= 3.0) {
    const double reduce = setup.buckets.reduce;
    setup.buckets = fsdp_buckets(shape, parallel, FsdpEmbeddings::root);
    setup.buckets.reduce = std::min(reduce, shape.layer_params());
  }
  if (layout.bucket > 0.0) setup.buckets.reduce = layout.bucket;
  return setup;
}

/// What the fullest stage of a pipeline has over an even share: whole layers, and at its ends the
/// embeddings.
double uneven(const LayoutFacts& facts, const TrainingLayout& layout) {
  if (layout.pipeline <= 1.0) return 1.0;
  const TransformerShape& shape = facts.shape;
  const double embeddings = shape.vocabulary * shape.hidden;
  const double layer = std::max(0.0, shape.params - embeddings) / shape.layers;
  const double fullest = std::ceil(shape.layers / layout.pipeline - 1e-9) * layer + embeddings;
  return std::max(1.0, fullest * layout.pipeline / shape.params);
}

/// Layers of the fullest stage over an even share.
double uneven_layers(const TransformerShape& shape, const TrainingLayout& layout) {
  const double even = shape.layers / layout.pipeline;
  return std::ceil(even - 1e-9) / even;
}

}  // namespace

MemoryBreakdown layout_memory(const LayoutFacts& facts, const TrainingLayout& layout) {
  MemoryQuestion question;
  question.shape = facts.shape;
  question.shape.sequence = layout.sequence_length;
  question.layout = parallel_layout(layout);
  question.zero_stage = static_cast<int>(std::lround(layout.zero_stage));
  const double dense = facts.shape.params - facts.expert_params;
  const double trained = facts.shape.trainable / facts.shape.params;
  question.shape.params = dense;
  question.shape.trainable = dense * trained;
  question.setup = setup_of(facts, layout, question.layout, question.shape);
  MemoryBreakdown peak = peak_memory(question, layout.micro_batch);

  if (facts.expert_params > 0.0) {
    // Among the ranks of expert parallelism they are different ones; what data parallelism shares
    // of them it shares among the rest.
    ParallelLayout ranks = question.layout;
    const double expert = std::min(layout.expert, std::max(1.0, layout.data * layout.sequence));
    ranks.sequence = 1;
    ranks.processes_per_node =
        whole(layout.data * layout.sequence / expert) * ranks.tensor * ranks.pipeline;
    const ModelStates states =
        model_states(facts.expert_params / expert, facts.expert_params * trained / expert,
                     question.zero_stage, ranks, question.setup);
    peak.parameters += states.parameters;
    peak.gradients += states.gradients;
    peak.optimizer += states.optimizer;
  }
  const double fullest = uneven(facts, layout);
  peak.parameters *= fullest;
  peak.gradients *= fullest;
  peak.optimizer *= fullest;
  peak.activations *= uneven_layers(facts.shape, layout);
  // Of the 14 bytes a logit that logit_bytes counts, a fused loss takes 8: 16-bit logits, a copy in
  // 32 bits that becomes its own gradient, and that in 16.
  constexpr double fused_loss = 8.0 / 14.0;
  peak.logits *= fused_loss;
  if (layout.pipeline > 1.0 && layout.chunks > 1.0) {
    peak.activations *= 1.0 + (layout.pipeline - 1.0) / (layout.pipeline * layout.chunks);
  }
  return peak;
}

double layout_fits(double bytes, double capacity, double deviation) {
  constexpr double usable = 0.95;
  if (!(bytes > 0.0) || !(capacity > 0.0)) return 1.0;
  return normal_cdf(std::log(usable * capacity / bytes) / deviation);
}

}  // namespace slurmtune
