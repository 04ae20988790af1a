// SPDX-License-Identifier: MIT
#pragma once

#include "slurmtune/model/memory/training_setup.hpp"
#include "slurmtune/model/memory/transformer_shape.hpp"

namespace slurmtune {

/// Bytes that one layer keeps for the backward pass, on one rank. With s tokens, b samples, hidden
/// size h, a heads, t ranks of tensor parallelism, 16 bits an element:
///
///     plain MLP of width 4h     s b h (34 + 5 a s / h)
///     tensor parallel           s b h (10 + 24 / t + 5 a s / (h t))
///     and sequence parallel     s b h (34 / t + 5 a s / (h t))
///     selective                 without 5 a s / h, as with flash attention
///     full                      2 s b h; / t with sequence parallelism
///
/// Source: Korthikanti et al., "Reducing Activation Recomputation in Large Transformer Models",
/// arXiv:2205.05198, equations 1 to 4 and table 2. A plain MLP of another width f h takes 3 + 4 f
/// of the 34 instead of 19.
///
/// A gated MLP of width f h with RMSNorm and g = kv_heads / heads (Llama, Mistral, Qwen, Gemma)
/// is counted likewise, tensor by tensor: both norms 2 x (4 + 2 + 2) (their input in 32 bits, it
/// normalised, their output), queries 2, keys and values 4 g, the attention's result 2 and the
/// product of its scores 5 a s / h unless flash, MLP 8 f (gate, its activation, up, product). There
/// is no dropout.
///
/// `operators` keeps the layer's input (2), the attention's result (2) and half of the products'
/// results. 32-bit training doubles all but the norms.
[[nodiscard]] double layer_activation_bytes(const TransformerShape& shape, double samples,
                                            const ParallelLayout& layout,
                                            const TrainingSetup& setup);

/// What the activations of one rank take at two moments of the backward pass.
struct ActivationBytes {
  double stored = 0.0;   ///< by all layers of the rank, at the turn from forward to backward
  double working = 0.0;  ///< while a layer's backward runs: it recomputed, and its gradients
  double host = 0.0;     ///< checkpoints that lie in host memory
};

/// For micro-batches of `samples`. Of a pipeline, the first stage is meant, which holds as many
/// micro-batches as there are stages (1F1B), or all of a step where these are fewer. Source:
/// Korthikanti et al., section 4.2.3; Narayanan et al., "Efficient Large-Scale Language Model
/// Training", SC21, section 2.2.
[[nodiscard]] ActivationBytes activation_bytes(const TransformerShape& shape, double samples,
                                               const ParallelLayout& layout,
                                               const TrainingSetup& setup);

/// Bytes of the logits and of what the loss makes of them, s b v elements: as the model gives them
/// (2 bytes with 16-bit precision), in 32 bits for the loss (4), its log-softmax (4), and the
/// gradient (4). Tensor parallelism divides the vocabulary. On the last stage of a pipeline only,
/// which holds one micro-batch. Source: torch's cross_entropy and autograd, counted; the fp32 copy
/// as in transformers' models of 4.x (`logits.float()`) and torchtitan.
[[nodiscard]] double logit_bytes(const TransformerShape& shape, double samples,
                                 const ParallelLayout& layout, const TrainingSetup& setup);

}  // namespace slurmtune
