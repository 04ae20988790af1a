// SPDX-License-Identifier: MIT
#include "slurmtune/model/layout/step_time.hpp"

#include <algorithm>
#include <cmath>

namespace slurmtune {

namespace {

// What of a product's peak the best of them reach, and the size at which they reach half of that.
constexpr double best_share = 0.8;
constexpr double half_size = 256.0;
constexpr double element = 2.0;  // bytes

/// Bus bandwidth of a ring over `ranks`, of which neighbours are `stride` ranks apart.
double ring_bandwidth(const MachineRates& rates, double ranks, double stride) {
  if (ranks * stride <= rates.gpus_per_node) return rates.node_bytes_per_s;
  const double on_node = std::max(1.0, std::min(ranks, rates.gpus_per_node / stride));
  return std::min(rates.node_bytes_per_s, rates.network_bytes_per_s * on_node);
}

double shared(double ranks) { return ranks > 1.0 ? (ranks - 1.0) / ranks : 0.0; }

/// What is not hidden behind `behind` seconds of computing, of which four fifths may hide it: some
/// of it never is.
double exposed(double seconds, double behind) {
  return std::max(0.1 * seconds, seconds - 0.8 * behind);
}

struct Sizes {
  double tokens = 0.0;  ///< of a micro-batch on a rank
  double stage_layers = 0.0;
  double layer_flops = 0.0;      ///< forward, of a rank
  double attention_flops = 0.0;  ///< part of it
  double head_flops = 0.0;
  double stage_params = 0.0;  ///< of a rank, before ZeRO
};

Sizes sizes_of(const LayoutFacts& facts, const TrainingLayout& layout) {
  const TransformerShape& shape = facts.shape;
  Sizes sizes;
  sizes.tokens = layout.micro_batch * layout.sequence_length / layout.sequence;
  sizes.stage_layers = std::ceil(shape.layers / layout.pipeline - 1e-9);
  sizes.attention_flops =
      4.0 * layout.sequence_length * shape.hidden * sizes.tokens / layout.tensor;
  sizes.layer_flops =
      2.0 * shape.layer_params() * sizes.tokens / layout.tensor + sizes.attention_flops;
  sizes.head_flops = 2.0 * shape.vocabulary * shape.hidden * sizes.tokens / layout.tensor;
  const double dense = (facts.shape.params - facts.expert_params);
  sizes.stage_params =
      (dense + facts.expert_params / layout.expert) / (layout.tensor * layout.pipeline);
  return sizes;
}

/// Operations a second that a rank's products reach.
double product_rate(const LayoutFacts& facts, const TrainingLayout& layout, const Sizes& sizes) {
  const auto filled = [](double size) { return size / (size + half_size); };
  double rows = sizes.tokens;
  double narrow = facts.shape.hidden / layout.tensor;
  if (facts.expert_params > 0.0) {
    // Each expert has its own tokens and a narrower product.
    rows *= 0.5;
    narrow *= 0.5;
  }
  return facts.rates.matrix_flops * best_share * filled(rows) * filled(narrow);
}

/// One layer's forward pass on a rank, computing only.
double layer_forward(const LayoutFacts& facts, const TrainingLayout& layout, const Sizes& sizes,
                     double rate) {
  // Of 34 bytes kept for each token and element of h, 10 are not divided by tensor parallelism.
  double kept = layout.tensor_sequence ? 34.0 / layout.tensor : 10.0 + 24.0 / layout.tensor;
  if (facts.setup.attention == Attention::materialised) {
    kept += 5.0 * facts.shape.heads * layout.sequence_length / (facts.shape.hidden * layout.tensor);
  }
  const double traffic = 2.0 * kept * sizes.tokens * facts.shape.hidden;
  const double time = sizes.layer_flops / rate + traffic / facts.rates.memory_bytes_per_s;
  constexpr double kernels = 30.0;
  return std::max(time, kernels * facts.rates.launch_s);
}

/// Tensor-, sequence- and expert-parallel time of one layer, forward.
struct LayerExchange {
  double tensor = 0.0;
  double sequence = 0.0;
  double expert = 0.0;
};

LayerExchange layer_exchange(const LayoutFacts& facts, const TrainingLayout& layout,
                             const Sizes& sizes) {
  const MachineRates& rates = facts.rates;
  const double bytes = element * sizes.tokens * facts.shape.hidden;
  LayerExchange exchange;
  constexpr double latency = 15e-6;
  if (layout.tensor > 1.0) {
    exchange.tensor =
        2.0 *
        (2.0 * shared(layout.tensor) * bytes / ring_bandwidth(rates, layout.tensor, 1.0) + latency);
  }
  if (layout.sequence > 1.0) {
    const double grouped = facts.shape.kv_heads / facts.shape.heads;
    const double passed = 2.0 * grouped * bytes / layout.tensor * (layout.sequence - 1.0);
    exchange.sequence =
        0.5 * passed / ring_bandwidth(rates, layout.sequence, layout.tensor) + latency;
  }
  if (facts.expert_params > 0.0 && layout.expert > 1.0) {
    const double sent = facts.experts_per_token * bytes * shared(layout.expert);
    exchange.expert = 2.0 * (sent / ring_bandwidth(rates, layout.expert, layout.tensor) + latency);
  }
  return exchange;
}

/// Forward passes that a micro-batch is worth in computing: 3, and what is recomputed.
double passes(const TrainingLayout& layout, const Sizes& sizes) {
  const double level = std::clamp(layout.checkpointing, 0.0, 2.0);
  const double attention = sizes.attention_flops / sizes.layer_flops;
  // Selective: the attention, and a fifth of the rest.
  const double selective = std::min(1.0, attention + 0.2 * (1.0 - attention));
  const double again =
      level <= 1.0 ? level * selective : selective + (level - 1.0) * (1.0 - selective);
  return 3.0 + again;
}

struct DataTime {
  double each_micro_batch = 0.0;
  double once = 0.0;
};

/// What data parallelism and ZeRO cost, by the computing behind which they hide.
DataTime data_time(const LayoutFacts& facts, const TrainingLayout& layout, const Sizes& sizes,
                   double micro_batch_compute) {
  const double ranks = layout.data * layout.sequence;
  DataTime time;
  const bool moved = layout.offload >= 1.5;
  if (ranks <= 1.0 && !moved) return time;
  const double bandwidth = ring_bandwidth(facts.rates, ranks, layout.tensor);
  const double part = element * sizes.stage_params * shared(ranks) / bandwidth;
  const double launches = 20e-6 * sizes.stage_layers;
  if (layout.zero_stage >= 2.5) {
    double gather = 3.0 * part + 3.0 * launches;
    if (moved)
      gather += 2.0 * element * sizes.stage_params / (ranks * facts.rates.host_bytes_per_s);
    time.each_micro_batch = exposed(gather, micro_batch_compute);
    return time;
  }
  const double backward = 2.0 / 3.0 * micro_batch_compute;
  if (layout.zero_stage >= 1.5 && layout.pipeline <= 1.0) {
    time.each_micro_batch = exposed(part + launches, backward);
    time.once = part;
    return time;
  }
  // Reduced behind the last backward pass; ZeRO 1 gathers afterwards.
  time.once = exposed(part, 0.5 * backward) + part;
  return time;
}

double optimizer_time(const LayoutFacts& facts, const TrainingLayout& layout, const Sizes& sizes) {
  const double ranks = layout.zero_stage >= 0.5 ? layout.data * layout.sequence : 1.0;
  const double own = sizes.stage_params / std::max(1.0, ranks);
  // Masters and two moments read and written, gradients read, parameters written.
  constexpr double traffic = 28.0;
  if (layout.offload < 0.5) return traffic * own / facts.rates.memory_bytes_per_s;
  // The host's memory, shared by the GPUs of a node, does about what a link does for each of them.
  constexpr double host_share = 20e9;
  return 4.0 * own / facts.rates.host_bytes_per_s + traffic * own / host_share;
}

}  // namespace

StepTime step_time(const LayoutFacts& facts, const TrainingLayout& layout) {
  const Sizes sizes = sizes_of(facts, layout);
  const double rate = product_rate(facts, layout, sizes);
  const double forward = layer_forward(facts, layout, sizes, rate);
  const LayerExchange exchange = layer_exchange(facts, layout, sizes);
  const double again = layout.checkpointing >= 1.5 ? 3.0 : 2.0;  // collectives: forward, backward

  const double layers = sizes.stage_layers;
  const double logits = 14.0 * 2.0 * sizes.tokens * facts.shape.vocabulary / layout.tensor;
  const double head = 3.0 * sizes.head_flops / rate + logits / facts.rates.memory_bytes_per_s;
  const double compute = layers * passes(layout, sizes) * forward;
  const double tensor = layers * again * exchange.tensor;
  const double sequence = layers * again * exchange.sequence;
  const double expert = layers * again * exchange.expert;
  const DataTime data = data_time(facts, layout, sizes, compute);

  // The last stage has the head too; a pipeline goes at the pace of its slowest stage.
  const double m = layout.micro_batches;
  double sent = 0.0;
  if (layout.pipeline > 1.0) {
    const double stride = layout.tensor * layout.sequence * layout.data;
    const double bytes = element * sizes.tokens * facts.shape.hidden / layout.tensor;
    const double bandwidth = stride >= facts.rates.gpus_per_node ? facts.rates.network_bytes_per_s
                                                                 : facts.rates.node_bytes_per_s;
    sent = layout.chunks * (2.0 * bytes / bandwidth + 20e-6);
  }
  StepTime time;
  time.compute = m * (compute + head);
  time.tensor = m * tensor;
  time.sequence = m * sequence;
  time.expert = m * expert;
  time.gather = m * data.each_micro_batch;
  const double micro_batch = compute + tensor + sequence + expert + data.each_micro_batch + sent;
  const double average = micro_batch + head / layout.pipeline;
  time.pipeline = m * sent + (layout.pipeline - 1.0) / layout.chunks * average;
  time.data = data.once;
  time.optimizer = optimizer_time(facts, layout, sizes);
  time.host = 2e-3;
  return time;
}

}  // namespace slurmtune
