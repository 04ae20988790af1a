// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "adam.hpp"
#include "expected.hpp"
#include "zero_config.hpp"

namespace minitrain {

/// The three batch keys of DeepSpeed, as far as they are given; afterwards all of them are, and
/// train_batch_size = micro_batch x gradient_accumulation x ranks.
struct BatchKeys {
  std::optional<std::int64_t> train_batch_size;
  std::optional<std::int64_t> train_micro_batch_size_per_gpu;
  std::optional<std::int64_t> gradient_accumulation_steps;
};

struct Batch {
  std::size_t global;
  std::size_t micro;
  std::size_t accumulation;
};

/// Completes and checks the batch keys with DeepSpeed's rules and words: what is missing is
/// derived by integer division, and then the product must be right.
/// Source: DeepSpeed 0.14, runtime/config.py, _set_batch_related_parameters and
/// _batch_assertion.
[[nodiscard]] Expected<Batch> resolve_batch(const BatchKeys& keys, std::size_t ranks);

/// A ds_config.json as far as minitrain acts on it.
struct DsConfig {
  Batch batch;
  ZeroConfig zero;
  AdamConfig adam;
  bool activation_checkpointing = false;
  std::int64_t steps_per_print = 10;
  /// Set when autotuning.model_info.profile asks for a model-info file: where to write it.
  std::optional<std::string> model_info_path;
  std::vector<std::string> warnings;
};

/// `file` is only named in messages.
[[nodiscard]] Expected<DsConfig> parse_ds_config(std::string_view text, const std::string& file,
                                                 std::size_t ranks);

}  // namespace minitrain
