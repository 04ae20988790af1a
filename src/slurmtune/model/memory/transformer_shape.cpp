// SPDX-License-Identifier: MIT
#include "slurmtune/model/memory/transformer_shape.hpp"

#include <algorithm>
#include <cmath>

namespace slurmtune {

namespace {

double counted_params(const TransformerShape& shape) {
  return shape.layers * shape.layer_params() + shape.vocabulary * shape.hidden;
}

MlpKind likely_mlp(const ModelSpec& model, TransformerShape shape) {
  if (model.gated_mlp) return *model.gated_mlp ? MlpKind::gated : MlpKind::plain;
  if (model.params) {
    const auto miss = [&](MlpKind kind) {
      shape.mlp = kind;
      return std::abs(counted_params(shape) - *model.params);
    };
    return miss(MlpKind::gated) < miss(MlpKind::plain) ? MlpKind::gated : MlpKind::plain;
  }
  const bool usual = !model.intermediate || *model.intermediate == 4.0 * shape.hidden;
  return usual ? MlpKind::plain : MlpKind::gated;
}

}  // namespace

double TransformerShape::layer_params() const {
  const double attention = hidden * hidden * (2.0 + 2.0 * kv_heads / heads);
  const double matrices = mlp == MlpKind::gated ? 3.0 : 2.0;
  return attention + matrices * hidden * intermediate;
}

double TransformerShape::largest_layer() const {
  return std::max(layer_params(), vocabulary * hidden);
}

std::optional<TransformerShape> transformer_shape(const ModelSpec& model) {
  if (!model.hidden || !model.layers || !model.sequence_length) return std::nullopt;
  TransformerShape shape;
  shape.hidden = *model.hidden;
  shape.layers = *model.layers;
  shape.sequence = *model.sequence_length;
  constexpr double wide = 4096.0;
  const double head = shape.hidden < wide ? 64.0 : 128.0;
  shape.heads = model.heads.value_or(std::max(1.0, std::round(shape.hidden / head)));
  shape.kv_heads = model.kv_heads.value_or(shape.heads);
  shape.intermediate = model.intermediate.value_or(4.0 * shape.hidden);
  shape.vocabulary = model.vocabulary.value_or(0.0);
  shape.mlp = likely_mlp(model, shape);
  shape.params = model.params.value_or(counted_params(shape));
  shape.trainable = std::min(shape.params, model.trainable_params.value_or(shape.params));
  return shape;
}

}  // namespace slurmtune
