// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "slurmtune/input/study_spec.hpp"

namespace slurmtune {

enum class MlpKind { plain, gated };

/// A transformer as memory sees it; every figure is known.
struct TransformerShape {
  double params = 0.0;
  double trainable = 0.0;  ///< parameters with gradients
  double hidden = 0.0;
  double layers = 0.0;
  double heads = 0.0;
  double kv_heads = 0.0;
  double intermediate = 0.0;
  double vocabulary = 0.0;  ///< 0 = no logits
  double sequence = 0.0;    ///< tokens of a sample
  MlpKind mlp = MlpKind::plain;

  /// Weights of one layer: attention h x (2h + 2h kv/a), MLP 2 or 3 x h x intermediate.
  [[nodiscard]] double layer_params() const;
  /// The most parameters that are gathered as one: a layer, or the embeddings.
  [[nodiscard]] double largest_layer() const;
};

/// Completes what [model] says: needs hidden, layers and sequence_length. Absent figures are those
/// of most models: heads of 64 (of 128 from hidden = 4096 on), kv_heads = heads, intermediate =
/// 4 hidden, params = layers + embeddings. The MLP is gated if the model says so, else if that
/// comes nearer to `params`, else if intermediate is given and is not 4 hidden. Nothing without the
/// three.
[[nodiscard]] std::optional<TransformerShape> transformer_shape(const ModelSpec& model);

}  // namespace slurmtune
