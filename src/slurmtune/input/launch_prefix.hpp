// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

/// What stands before the program of a launch line.
struct LinePrefix {
  std::size_t words = 0;  ///< that it takes; the program is behind them
  std::map<std::string, std::string> env;
  std::vector<std::string> setup;  ///< shell lines
  std::vector<std::string> notes;
};

/// Reads `NAME=VALUE …`, `env [-u NAME] NAME=VALUE …`, `nohup`, `time`, `exec`.
/// Errors: invalid_input: options of env that cannot be followed, a shell that is given the line
/// (`bash -c "…"`), a whole line in one word, nothing behind it.
/// Source: env(1) of GNU coreutils 9.
[[nodiscard]] Expected<LinePrefix> read_line_prefix(std::span<const std::string> words);

/// Errors: invalid_input if a word holds a whole line, or a script with its arguments: quotes that
/// are too much.
[[nodiscard]] Expected<void> check_one_word(const std::string& word);

}  // namespace slurmtune
