// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

namespace slurmtune {

/// What parameters are computed in, and whether the optimizer keeps 32-bit masters of them.
enum class Precision {
  fp32,
  fp16,       ///< 16-bit parameters and gradients, 32-bit masters
  bf16,       ///< the same; see GradientType
  bf16_only,  ///< everything 16-bit, no masters ("bf16-true", a model loaded in bfloat16)
};

/// What gradients are kept in: `data_types.grad_accum_dtype` of a ds_config.
enum class GradientType {
  automatic,  ///< as DeepSpeed chooses
  as_parameters,
  fp32,
};

/// Bytes for each parameter, before sharding.
struct ParameterBytes {
  double parameters = 4.0;
  double gradients = 4.0;
  double master = 0.0;     ///< 32-bit copy that the optimizer works on
  double transient = 0.0;  ///< gradients as backward makes them, where those kept are wider
};

/// Mixed precision: 2 + 2 + 4; 32 bits: 4 + 4 + 0; 16 bits only: 2 + 2 + 0. Gradients of bf16
/// without ZeRO are accumulated in 32 bits by default, beside the 16-bit ones. Sources:
/// Rajbhandari et al., "ZeRO", SC20, section 3.1; DeepSpeed 0.14, runtime/engine.py
/// (get_data_types), runtime/bf16_optimizer.py.
[[nodiscard]] ParameterBytes parameter_bytes(Precision precision, GradientType gradients,
                                             int zero_stage);

/// `fp32`, `fp16`, `bf16`, `bf16-only`; nothing for another word.
[[nodiscard]] std::optional<Precision> precision_named(std::string_view word);
[[nodiscard]] std::string_view name_of(Precision precision);

}  // namespace slurmtune
