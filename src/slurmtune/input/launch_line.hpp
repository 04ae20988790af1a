// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

/// What starts the processes of a launch line.
enum class LineLauncher {
  none,          ///< the program itself: one process
  deepspeed,     ///< `deepspeed`
  torchrun,      ///< `torchrun`, `python -m torch.distributed.run`
  torch_launch,  ///< `python -m torch.distributed.launch`
  accelerate,    ///< `accelerate launch`
  mpi,           ///< `mpirun`, `mpiexec`
  srun,
};

/// A number and the words of the line that gave it.
struct GivenCount {
  int value = 0;
  std::string from;
};

/// A launch line, understood: what the user types to train, taken apart so that its processes can
/// be started without its launcher.
struct LaunchLine {
  LineLauncher launcher = LineLauncher::none;
  std::string launcher_name;               ///< as people know it: `deepspeed`, `torchrun`
  std::vector<std::string> prefix;         ///< what runs the script: `python3 -u`, `python3 -m`
  std::string script;                      ///< the script, module or program
  std::vector<std::string> arguments;      ///< the script's own, unchanged
  std::string local_rank_flag;             ///< what the launcher gives each script; "" = nothing
  std::map<std::string, std::string> env;  ///< `NAME=VALUE` before the line, and the launcher's own
  std::vector<std::string> setup;          ///< shell lines

  // What it takes; absent = not given. `processes` counts those of all nodes.
  std::optional<GivenCount> nodes;
  std::optional<GivenCount> processes_per_node;
  std::optional<GivenCount> processes;
  bool all_devices = false;  ///< `--nproc_per_node=gpu`: as many as a node has
  std::string autotuning;    ///< `tune` or `run`, if the line says so
  std::string hostfile;
  std::string hosts;     ///< of mpirun: `a:2,b:2`, or a host as often as it has slots
  bool by_node = false;  ///< mpirun deals the processes out among the hosts, one by one
  std::string include;
  std::string exclude;

  /// The file of accelerate's --deepspeed_config_file; the script's own are in `arguments`.
  std::optional<std::string> ds_config;
  std::string ds_config_from;                    ///< what named that file
  std::optional<std::string> accelerate_config;  ///< accelerate's --config_file
  std::vector<std::string> notes;  ///< one sentence for each flag that does not stay as it is
};

/// Takes a launch line apart: `deepspeed`, `torchrun`, `python -m torch.distributed.run` or
/// `.launch`, `accelerate launch`, `mpirun`, `srun` (also before one of the others), or a program
/// by itself; each also by its path. Flags as the launchers' own parsers take them: `--flag value`,
/// `--flag=value`, unambiguous beginnings.
/// Errors: invalid_input naming the flag and what to do: one that no launcher has, one that cannot
/// work (elastic training), no script, an empty word, a shell variable that was not expanded.
/// Sources: deepspeed/launcher/runner.py 0.19, torch/distributed/run.py 2.5,
/// accelerate/commands/launch.py 1.2, mpirun(1) of Open MPI 4.1, srun(1).
[[nodiscard]] Expected<LaunchLine> parse_launch_line(std::span<const std::string> argv);

/// Notes the words of a program that look like a slip of the shell's. Errors: invalid_input if the
/// program submits jobs, or starts one of the launchers.
[[nodiscard]] Expected<void> check_arguments(LaunchLine& line);

/// The file of a script's DeepSpeed config: an argument and where in it the file begins.
struct DsConfigArgument {
  std::size_t index = 0;   ///< in `arguments`
  std::size_t offset = 0;  ///< 12 in `--deepspeed=X`
  std::string file;
};

/// Where a script's arguments name its DeepSpeed config: `--deepspeed_config X`, else
/// `--deepspeed X`, each also with `=`; `--deepspeed` alone is a switch of DeepSpeed's own.
/// Errors: invalid_input for a config that is given inline (JSON).
[[nodiscard]] Expected<std::optional<DsConfigArgument>> find_ds_config(
    const std::vector<std::string>& arguments);

/// Whether a script is one over Hugging Face's Trainer, by its own flags: then its steps are told
/// by the Trainer's progress bar. `_no_trainer` scripts have some of the same flags, and are not.
[[nodiscard]] bool is_hf_trainer(const LaunchLine& line);

}  // namespace slurmtune
