// SPDX-License-Identifier: MIT
#include "slurmtune/model/memory/activations.hpp"

#include <algorithm>

namespace slurmtune {

namespace {

/// Bytes for each token and element of h, on one rank.
struct LayerTerms {
  double shared = 0.0;   ///< at the layer's ends, where every tensor-parallel rank has all tokens
  double divided = 0.0;  ///< inside of attention and MLP, divided among them
  double norms = 0.0;    ///< of `shared`, what does not depend on the precision
};

LayerTerms layer_terms(const TransformerShape& shape) {
  const double f = shape.intermediate / shape.hidden;
  if (shape.mlp == MlpKind::plain) {
    // Korthikanti et al., section 4.1: attention 11, MLP 19, norms 4; what 10 stands for is not
    // divided: inputs of attention and MLP, their dropout masks, the norms.
    return {10.0, 8.0 + 4.0 * f, 0.0};
  }
  const double g = shape.kv_heads / shape.heads;
  return {0.0, 4.0 + 4.0 * g + 8.0 * f, 16.0};
}

double tokens_of(const TransformerShape& shape, double samples, const ParallelLayout& layout) {
  return samples * shape.sequence / static_cast<double>(layout.sequence);
}

/// Width of an element over that of a 16-bit one.
double width_of_elements(const TrainingSetup& setup) {
  return setup.precision == Precision::fp32 ? 2.0 : 1.0;
}

double shares(const ParallelLayout& layout, const TrainingSetup& setup) {
  const bool split = setup.tensor_activations == TensorActivations::sequence_parallel;
  return split ? static_cast<double>(layout.tensor) : 1.0;
}

/// All of a layer, whatever is checkpointed.
double whole_layer_bytes(const TransformerShape& shape, double samples,
                         const ParallelLayout& layout, const TrainingSetup& setup) {
  const LayerTerms terms = layer_terms(shape);
  const auto t = static_cast<double>(layout.tensor);
  const double width = width_of_elements(setup);
  double scores = 0.0;
  if (setup.attention == Attention::materialised &&
      setup.checkpointing != Checkpointing::selective) {
    scores = 5.0 * shape.heads * shape.sequence / shape.hidden;
  }
  const double ends = (width * terms.shared + terms.norms) / shares(layout, setup);
  const double inside = width * (terms.divided + scores) / t;
  return tokens_of(shape, samples, layout) * shape.hidden * (ends + inside);
}

/// What the second matrix product of every two leaves, with the layer's input and the attention's
/// result.
double operators_bytes(const TransformerShape& shape, double samples, const ParallelLayout& layout,
                       const TrainingSetup& setup) {
  const double f = shape.intermediate / shape.hidden;
  const double g = shape.kv_heads / shape.heads;
  const double matrices = shape.mlp == MlpKind::gated ? 2.0 : 1.0;
  const double products = 6.0 + 4.0 * g + 2.0 * matrices * f;
  const auto t = static_cast<double>(layout.tensor);
  const double all = 2.0 / shares(layout, setup) + (2.0 + products / 2.0) / t;
  return tokens_of(shape, samples, layout) * shape.hidden * width_of_elements(setup) * all;
}

}  // namespace

double layer_activation_bytes(const TransformerShape& shape, double samples,
                              const ParallelLayout& layout, const TrainingSetup& setup) {
  switch (setup.checkpointing) {
    case Checkpointing::none:
    case Checkpointing::selective: return whole_layer_bytes(shape, samples, layout, setup);
    case Checkpointing::operators: return operators_bytes(shape, samples, layout, setup);
    case Checkpointing::full: break;
  }
  return 2.0 * width_of_elements(setup) * tokens_of(shape, samples, layout) * shape.hidden /
         shares(layout, setup);
}

ActivationBytes activation_bytes(const TransformerShape& shape, double samples,
                                 const ParallelLayout& layout, const TrainingSetup& setup) {
  if (!(shape.hidden > 0.0)) return {};  // a model of which only the size is known
  const double layer = layer_activation_bytes(shape, samples, layout, setup);
  const double element =
      width_of_elements(setup) * tokens_of(shape, samples, layout) * shape.hidden;
  ActivationBytes bytes;
  // With enough micro-batches a pipeline's first stage holds as much as all layers of one.
  const double layers =
      shape.layers * static_cast<double>(layout.in_flight()) / static_cast<double>(layout.pipeline);
  bytes.stored = layers * layer;
  // The embeddings' result and what the last norm keeps.
  bytes.stored += 8.0 * element / shares(layout, setup);
  // Gradients on their way through the MLP, the widest place, and those of the layer's ends.
  const double f = shape.intermediate / shape.hidden;
  const double matrices = shape.mlp == MlpKind::gated ? 2.0 : 1.0;
  const auto t = static_cast<double>(layout.tensor);
  bytes.working = element * (2.0 * matrices * f / t + 4.0 / shares(layout, setup));
  if (setup.checkpointing == Checkpointing::full ||
      setup.checkpointing == Checkpointing::operators) {
    bytes.working += whole_layer_bytes(shape, samples, layout, setup);
  }
  if (setup.checkpointing == Checkpointing::full && setup.checkpoints != Placement::gpu) {
    bytes.host = layers * layer;
    bytes.stored -= bytes.host;
  }
  return bytes;
}

double logit_bytes(const TransformerShape& shape, double samples, const ParallelLayout& layout,
                   const TrainingSetup& setup) {
  constexpr double loss = 12.0;
  const double bytes = setup.precision == Precision::fp32 ? loss : loss + 2.0;
  return tokens_of(shape, samples, layout) * shape.vocabulary * bytes /
         static_cast<double>(layout.tensor);
}

}  // namespace slurmtune
