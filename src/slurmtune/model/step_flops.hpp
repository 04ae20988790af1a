// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

namespace slurmtune {

/// What is known of a decoder-only transformer; absent = unknown.
struct ModelShape {
  std::optional<double> params{};  ///< that a token passes through
  std::optional<double> layers{};
  std::optional<double> hidden{};           ///< size of a token's vector between layers
  std::optional<double> sequence_length{};  ///< tokens of a sample

  bool operator==(const ModelShape&) const = default;
};

/// Operations of training on one token, counted, not measured: 6 for each parameter (a multiply and
/// an add forward, twice that backward) and, where layers, hidden size and length are known, 12 x
/// layers x hidden x length for attention, whose length is taken whole although a mask hides half
/// of it. What is computed again by activation checkpointing does not count. Nothing without
/// params. Sources: Kaplan et al., arXiv:2001.08361, section 2.1; Chowdhery et al. (PaLM),
/// arXiv:2204.02311, appendix B.
[[nodiscard]] std::optional<double> flops_per_token(const ModelShape& shape);

/// One training step, as it was measured.
struct MeasuredStep {
  double step_s = 0.0;
  double samples = 0.0;  ///< over all GPUs
  double gpus = 1.0;
};

/// Achieved FLOP/s on each GPU: tokens a second and GPU times flops_per_token. Nothing unless
/// params and sequence_length are known and the step's figures positive.
[[nodiscard]] std::optional<double> achieved_flops_per_gpu(const ModelShape& shape,
                                                           const MeasuredStep& step);

/// The most that a GPU of that name does, in FLOP/s: dense matrix products of 16-bit numbers, by
/// its vendor's data sheet, with the boost clock. No training step is faster, whatever its
/// precision, but for 8-bit ones: these double it. Nothing for a name that is not known. Names are
/// as NVML and ROCm SMI tell them ("NVIDIA H100 80GB HBM3").
[[nodiscard]] std::optional<double> gpu_peak_flops(std::string_view gpu);

}  // namespace slurmtune
