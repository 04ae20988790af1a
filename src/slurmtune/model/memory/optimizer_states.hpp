// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "slurmtune/model/memory/precision.hpp"

namespace slurmtune {

/// What an optimizer keeps for each parameter.
enum class OptimizerKind {
  adam,         ///< two moments: Adam, AdamW, FusedAdam, DeepSpeedCPUAdam, LAMB
  momentum,     ///< one: SGD with momentum, Lion, Muon, Adagrad, RMSprop
  plain,        ///< none: SGD
  adafactor,    ///< a row and a column of the second moment
  adam_8bit,    ///< two moments of a byte each, and their scales
  onebit_adam,  ///< two moments and the error of compression: 1-bit Adam, 0/1 Adam, 1-bit LAMB
};

/// How the optimizer's step is computed.
enum class OptimizerStep {
  fused,    ///< in place
  foreach,  ///< over lists of tensors, which takes a copy of the parameters
};

/// Bytes of states for each trainable parameter. Moments are as wide as what they are of: 32 bits,
/// but 16 where nothing is kept in 32 bits. Adafactor keeps vectors of the matrices' sides, taken
/// for 0.01 bytes; 8-bit states have a 32-bit scale for each 256 of them. Sources: Kingma and Ba,
/// arXiv:1412.6980; Chen et al. (Lion), arXiv:2302.06675; Shazeer and Stern (Adafactor),
/// arXiv:1804.04235, section 3; Dettmers et al. (8-bit), arXiv:2110.02861; Tang et al. (1-bit
/// Adam), arXiv:2102.02888, as in DeepSpeed 0.14, runtime/fp16/onebit/adam.py (worker_error).
[[nodiscard]] double optimizer_state_bytes(OptimizerKind kind, Precision precision);

/// By the name that a ds_config or a script gives it, in any case: `AdamW`, `adamw_bnb_8bit`, …;
/// nothing for a name that is not known. SGD is taken to be without momentum.
[[nodiscard]] std::optional<OptimizerKind> optimizer_named(std::string_view name);

}  // namespace slurmtune
