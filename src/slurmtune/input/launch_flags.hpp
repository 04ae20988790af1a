// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string_view>

#include "slurmtune/input/launch_line.hpp"

namespace slurmtune {

/// What becomes of a launcher's flag.
enum class FlagMeaning {
  hostfile,
  hosts,  ///< `a:2,b:2`
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
  accelerate_config,
  variable,  ///< `name` of the environment gets the value
  assign,    ///< `-x NAME=VALUE`
  exports,   ///< `ALL,NAME=VALUE`
  map_by,    ///< `ppr:4:node`, `node`
  dropped,   ///< slurmtune does it, or it means nothing here; `why` says so
  silent,    ///< the same, not worth a word
  refused,   ///< cannot work; `why` says what to do
};

/// How many words follow; `attached`: none, but there may be a `=value`.
enum class FlagArity { none, one, two, attached };

struct LauncherFlag {
  std::string_view name;  ///< with its dashes
  FlagArity arity = FlagArity::one;
  FlagMeaning meaning = FlagMeaning::dropped;
  std::string_view why = {};  ///< for dropped and refused; of `variable`, its name
};

// Why a flag is left out, where more than one table says so.
inline constexpr std::string_view why_own_start =
    "slurmtune starts the processes itself, without ssh";
inline constexpr std::string_view why_own_logs = "slurmtune keeps the output of every trial";
inline constexpr std::string_view why_own_binding =
    "cores are bound by the launcher of the trials; see docs/user/trials.md";
inline constexpr std::string_view why_in_slurm =
    "write it into [slurm] sbatch_options of the study";

/// The flags of mpirun and mpiexec, long ones with one dash; and those of srun.
[[nodiscard]] std::span<const LauncherFlag> mpi_flags();
[[nodiscard]] std::span<const LauncherFlag> srun_flags();

/// The flags that a launcher has before its script.
[[nodiscard]] std::span<const LauncherFlag> flags_of(LineLauncher launcher);

/// The flag of that name, or the one that only it can begin; null if there is none.
[[nodiscard]] const LauncherFlag* find_launcher_flag(std::string_view word, LineLauncher launcher);

}  // namespace slurmtune
