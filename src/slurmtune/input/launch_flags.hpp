// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

#include "slurmtune/input/launch_line.hpp"

namespace slurmtune {

/// What becomes of a launcher's flag.
enum class FlagMeaning {
  hostfile,
  include,
  exclude,
  nodes,               ///< a number, or `min:max`
  processes_per_node,  ///< a number, or gpu, auto, cpu
  processes,           ///< of all nodes
  module,              ///< the script is a module
  no_python,           ///< the script is a program
  no_local_rank,
  venv_script,
  autotuning,
  ds_config,
  variable,  ///< `name` of the environment gets the value
  assign,    ///< `-x NAME=VALUE`
  dropped,   ///< slurmtune does it, or it means nothing here; `why` says so
  silent,    ///< the same, not worth a word
  refused,   ///< cannot work; `why` says what to do
};

/// How many words follow.
enum class FlagArity { none, one, two };

struct LauncherFlag {
  std::string_view name;  ///< with its dashes
  FlagArity arity = FlagArity::one;
  FlagMeaning meaning = FlagMeaning::dropped;
  std::string_view why = {};  ///< for dropped and refused; of `variable`, its name
};

/// The flags that a launcher has before its script.
[[nodiscard]] std::span<const LauncherFlag> flags_of(LineLauncher launcher);

/// The flag of that name, or the one that only it can begin; null if there is none.
[[nodiscard]] const LauncherFlag* find_launcher_flag(std::string_view word, LineLauncher launcher);

}  // namespace slurmtune
