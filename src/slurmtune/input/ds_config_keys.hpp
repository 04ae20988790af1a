// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/key_table.hpp"
#include "slurmtune/input/node.hpp"

namespace slurmtune {

struct DsConfig;

/// What DeepSpeed itself checks of a ds_config when it starts, apart from the keys that
/// read_ds_config interprets (batch sizes, ZeRO stage).
/// Source: deepspeed/runtime/config.py, zero/config.py and zero/offload_config.py of 0.14.4, and
/// the keys that were added up to 0.19.
[[nodiscard]] const KeyTable& ds_config_keys();

/// The key of "zero_optimization" that DeepSpeed also takes by `name`, that of its Python field:
/// `stage3_prefetch_bucket_size` for `prefetch_bucket_size`; "" if there is none.
[[nodiscard]] std::string_view key_of_field(std::string_view name);

/// Makes one spelling of what DeepSpeed reads in several, wherever ds_config_keys() has a row: a
/// null is taken out, a number or truth in quotes becomes one, a name of Python's becomes the key
/// (`prefetch_bucket_size`). Says so in config.notes.
void tidy_ds_config(Node& root, DsConfig& config);

/// Checks a tidied config by ds_config_keys(): types and bounds of single values and of each value
/// of a list, unknown keys where DeepSpeed refuses them, and what contradicts itself. Fills
/// config.listed. Errors: invalid_input, `path:line: `.
[[nodiscard]] Expected<void> check_ds_config(const Node& root, DsConfig& config);

/// Checks a value that is to be written at a dotted path of a ds_config. `value.line` and `path`
/// are where it stands. Paths that ds_config_keys() does not know are left alone, except where
/// DeepSpeed refuses them. Errors: invalid_input, `path:line: `.
[[nodiscard]] Expected<void> check_ds_value(std::string_view key, const Node& value,
                                            std::string_view path);

}  // namespace slurmtune
