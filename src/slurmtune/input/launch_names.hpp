// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "slurmtune/input/launch_line.hpp"

namespace slurmtune {

// What a word of a launch line is, by its name.

/// What stands behind the last slash.
[[nodiscard]] std::string_view file_name(std::string_view path);

/// `python`, `/opt/bin/python3.11`, `pypy3`
[[nodiscard]] bool is_python(std::string_view word);

/// bash, sh, zsh, …
[[nodiscard]] bool is_shell(std::string_view program);

/// The launcher that a program or a module of that name is.
[[nodiscard]] std::optional<LineLauncher> launcher_named(std::string_view word);

/// `NAME=VALUE`, as it may stand before a command.
[[nodiscard]] bool is_assignment(std::string_view word);

/// `$NAME`, `${NAME}`, `$(…)`: what a shell would have replaced.
[[nodiscard]] bool looks_unexpanded(std::string_view word);

}  // namespace slurmtune
