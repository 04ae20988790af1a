// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/node.hpp"

namespace slurmtune {

/// What a key may hold; a row names one or more.
enum Shape : unsigned {
  shape_string = 1U << 0,   ///< any text
  shape_token = 1U << 1,    ///< a text without white space or control characters
  shape_word = 1U << 2,     ///< one of the row's words
  shape_integer = 1U << 3,  ///< within the row's bounds
  shape_real = 1U << 4,     ///< any number within the row's bounds
  shape_boolean = 1U << 5,
  shape_strings = 1U << 6,      ///< an array of texts
  shape_integers = 1U << 7,     ///< a non-empty array of integers within the row's bounds
  shape_scalars = 1U << 8,      ///< a non-empty array of texts, numbers or booleans
  shape_pair = 1U << 9,         ///< two numbers: [low, high]
  shape_string_map = 1U << 10,  ///< a table of texts
  shape_table = 1U << 11,       ///< a table with the keys of the row's table
  shape_tables = 1U << 12,      ///< an array of such tables
  shape_null = 1U << 13,        ///< JSON's null: as if it were not there
  shape_anything = 1U << 14,    ///< not looked at
  shape_choices = 1U << 15,     ///< in a ds_config: a list of such values is a knob's choices
};

/// One word of an enumeration. With `instead`, this version knows the word but cannot do it.
struct Word {
  std::string_view word;
  std::string_view instead = {};
};

/// Inclusive, except `above` where low is excluded.
struct Bounds {
  double low = -9.0e18;
  double high = 9.0e18;
  bool above = false;
};

struct KeyTable;

/// How the description of a key begins that is known and moves nothing; the reason follows.
inline constexpr std::string_view not_used = "Not used: ";

/// One key: what the parser checks, and what the schema and the messages say.
struct KeyRow {
  std::string_view key;
  unsigned shapes = 0;
  std::string_view example;      ///< what to write
  std::string_view description;  ///< one sentence
  Bounds bounds = {};
  std::span<const Word> words = {};
  const KeyTable* table = nullptr;
  bool required = false;
};

/// The keys of one table. `name` is as in a message: `[trial]`; `prefix` comes before its keys.
struct KeyTable {
  std::string_view name;
  std::string_view prefix;
  std::span<const KeyRow> rows;

  [[nodiscard]] const KeyRow* find(std::string_view key) const;
};

[[nodiscard]] const KeyTable& study_keys();       ///< all of study.toml
[[nodiscard]] const KeyTable& site_keys();        ///< a site file
[[nodiscard]] const KeyTable& queue_keys();       ///< [[queue]] of a site file
[[nodiscard]] const KeyTable& autotuning_keys();  ///< "autotuning" of a ds_config

/// The keys of [slurm]: site keys, and site, submit, lanes.
[[nodiscard]] const KeyTable& slurm_keys();

/// Checks every key of `node` and below: known, of the right shape, within bounds, required ones
/// there. Errors: invalid_input, `path:line: `; the first one by line.
[[nodiscard]] Expected<void> check_keys(const Node& node, const KeyTable& table,
                                        std::string_view path);

/// The position of a checked word in its row's words.
[[nodiscard]] std::size_t word_index(const KeyRow& row, std::string_view word);

}  // namespace slurmtune
