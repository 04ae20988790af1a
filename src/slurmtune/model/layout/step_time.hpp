// SPDX-License-Identifier: MIT
#pragma once

#include "slurmtune/model/layout/training_layout.hpp"

namespace slurmtune {

/// Where a training step's time goes, in seconds, as published formulas count it.
struct StepTime {
  double compute = 0.0;    ///< matrix products and the rest of the layers, recomputed ones too
  double tensor = 0.0;     ///< tensor-parallel collectives
  double sequence = 0.0;   ///< keys and values that go around, or all-to-all
  double expert = 0.0;     ///< tokens to experts and back
  double gather = 0.0;     ///< ZeRO 3's parameters (and ZeRO 2's gradients), what is not hidden
  double pipeline = 0.0;   ///< bubble, and what is sent between stages
  double data = 0.0;       ///< gradients and ZeRO 1's parameters, what is not hidden
  double optimizer = 0.0;  ///< and what offloading moves
  double host = 0.0;       ///< what the step costs whatever its size

  [[nodiscard]] double total() const {
    return compute + tensor + sequence + expert + gather + pipeline + data + optimizer + host;
  }
};

/// The time of a step. With b samples, s tokens each, h wide, L layers, p stages of v chunks, m
/// micro-batches, t tensor-parallel ranks:
///
/// - operations: 2 for each parameter and token forward, twice that backward, attention 4 s h a
///   layer and token forward (Kaplan et al., arXiv:2001.08361, section 2.1; Narayanan et al., SC21,
///   appendix); `full` checkpointing computes the forward pass again (8 instead of 6, as Narayanan
///   et al. count), `selective` the attention and a part of the rest (Korthikanti et al.,
///   arXiv:2205.05198, section 5).
/// - rate of products: 80 % of the peak, x r / (r + 256) for the rows r = b s and the narrowest
///   side (h / t, or an expert's), since tiles of some 128 x 256 fill a GPU only in numbers; never
///   more than the kernels' launches allow.
/// - the rest of a layer is memory traffic: what it keeps for backward (Korthikanti et al.,
///   equation 1, with the scores where the attention materialises them) written and read, twice
///   that backward.
/// - tensor: 4 all-reduces of 2 b s h bytes a layer, 6 with full checkpointing (Shoeybi et al.,
///   Megatron-LM, arXiv:1909.08053, section 3; Korthikanti et al., section 4.2.2: with sequence
///   parallelism as much, in halves). All-reduce over n ranks: 2 (n - 1) / n of the bytes.
/// - sequence: keys and values of all others (Liu et al., Ring Attention, arXiv:2310.01889), half
///   of it hidden; expert: 4 all-to-alls (Rajbhandari et al., DeepSpeed-MoE, arXiv:2201.05596).
/// - pipeline: (p - 1) / v micro-batches of bubble (Narayanan et al., section 2.2), 2 b s h / t
/// bytes
///   between stages each way (section 4.1), v times.
/// - data: an all-reduce of the gradients a step; ZeRO 1 and 2 scatter and gather, as much; ZeRO 3
///   gathers parameters twice and scatters gradients at each micro-batch, 1.5 times as much
///   (Rajbhandari et al., ZeRO, SC20, section 7). Mostly hidden behind the backward pass.
/// - groups that leave a node share its network: n ranks on a node in one ring get n GPUs' part.
/// - optimizer: its states read and written; offloaded, what crosses the host link and the host's
///   own memory (Ren et al., ZeRO-Offload, arXiv:2101.06840, section 4).
///
/// Ranks are placed as Megatron-LM does: tensor innermost, then sequence, data, pipeline.
[[nodiscard]] StepTime step_time(const LayoutFacts& facts, const TrainingLayout& layout);

}  // namespace slurmtune
