// SPDX-License-Identifier: MIT
#include "slurmtune/input/launch_flags.hpp"

#include <algorithm>
#include <array>
#include <string>

namespace slurmtune {

namespace {

using enum FlagMeaning;
constexpr FlagArity none = FlagArity::none;
constexpr FlagArity one = FlagArity::one;
constexpr FlagArity two = FlagArity::two;

constexpr std::string_view own_rendezvous = "slurmtune chooses address and port for every trial";
constexpr std::string_view own_start = why_own_start;
constexpr std::string_view own_logs = why_own_logs;
constexpr std::string_view own_binding = why_own_binding;
constexpr std::string_view elastic =
    "elastic training changes its number of processes by itself, and a trial has a fixed one; "
    "remove it and give --num_nodes";
constexpr std::string_view in_slurm = why_in_slurm;
constexpr std::string_view into_config =
    "write it into a DeepSpeed config, and give that with --deepspeed_config_file";

// deepspeed/launcher/runner.py
constexpr std::array deepspeed_flags{
    LauncherFlag{"-H", one, hostfile},
    LauncherFlag{"--hostfile", one, hostfile},
    LauncherFlag{"-i", one, include},
    LauncherFlag{"--include", one, include},
    LauncherFlag{"-e", one, exclude},
    LauncherFlag{"--exclude", one, exclude},
    LauncherFlag{"--num_nodes", one, nodes},
    LauncherFlag{"--num_gpus", one, processes_per_node},
    LauncherFlag{"--num_accelerators", one, processes_per_node},
    LauncherFlag{"--module", none, module},
    LauncherFlag{"--no_python", none, no_python},
    LauncherFlag{"--no_local_rank", none, no_local_rank},
    LauncherFlag{"--venv_script", one, venv_script},
    LauncherFlag{"--autotuning", one, autotuning},
    LauncherFlag{"--master_port", one, dropped, own_rendezvous},
    LauncherFlag{"--master_addr", one, dropped, own_rendezvous},
    LauncherFlag{"--node_rank", one, dropped, own_start},
    LauncherFlag{"--launcher", one, dropped, own_start},
    LauncherFlag{"--launcher_args", one, dropped, in_slurm},
    LauncherFlag{"--no_ssh", none, dropped, own_start},
    LauncherFlag{"--no_ssh_check", none, dropped, own_start},
    LauncherFlag{"--ssh_port", one, dropped, own_start},
    LauncherFlag{"--force_multi", none, dropped, own_start},
    LauncherFlag{"--save_pid", none, dropped, "slurmtune ends the processes of a trial itself"},
    LauncherFlag{"--enable_each_rank_log", one, dropped, own_logs},
    LauncherFlag{"--log_level", one, silent},
    LauncherFlag{"-q", none, silent},
    LauncherFlag{"--quiet", none, silent},
    LauncherFlag{"--bind_cores_to_rank", none, dropped, own_binding},
    LauncherFlag{"--bind_core_list", one, dropped, own_binding},
    LauncherFlag{"--elastic_training", none, refused, elastic},
    LauncherFlag{"--min_elastic_nodes", one, refused, elastic},
    LauncherFlag{"--max_elastic_nodes", one, refused, elastic},
};

// torch/distributed/run.py and launch.py; `-` and `_` are the same there.
constexpr std::array torch_flags{
    LauncherFlag{"--nnodes", one, nodes},
    LauncherFlag{"--nproc_per_node", one, processes_per_node},
    LauncherFlag{"-m", none, module},
    LauncherFlag{"--module", none, module},
    LauncherFlag{"--no_python", none, no_python},
    LauncherFlag{"--use_env", none, no_local_rank},
    LauncherFlag{"--standalone", none, silent},
    LauncherFlag{"--master_addr", one, dropped, own_rendezvous},
    LauncherFlag{"--master_port", one, dropped, own_rendezvous},
    LauncherFlag{"--rdzv_backend", one, dropped, own_rendezvous},
    LauncherFlag{"--rdzv_endpoint", one, dropped, own_rendezvous},
    LauncherFlag{"--rdzv_id", one, dropped, own_rendezvous},
    LauncherFlag{"--rdzv_conf", one, dropped, own_rendezvous},
    LauncherFlag{"--local_addr", one, dropped, own_rendezvous},
    LauncherFlag{"--node_rank", one, dropped, own_start},
    LauncherFlag{"--start_method", one, dropped, own_start},
    LauncherFlag{"--role", one, silent},
    LauncherFlag{"--max_restarts", one, dropped, "slurmtune repeats what is worth repeating"},
    LauncherFlag{"--monitor_interval", one, silent},
    LauncherFlag{"--run_path", none, refused, "write the script without it"},
    LauncherFlag{"--log_dir", one, dropped, own_logs},
    LauncherFlag{"-r", one, dropped, own_logs},
    LauncherFlag{"--redirects", one, dropped, own_logs},
    LauncherFlag{"-t", one, dropped, own_logs},
    LauncherFlag{"--tee", one, dropped, own_logs},
    LauncherFlag{"--local_ranks_filter", one, dropped, own_logs},
    LauncherFlag{"--logs_specs", one, dropped, own_logs},
};

// accelerate/commands/launch.py; `-` and `_` are the same there.
constexpr std::array accelerate_flags{
    LauncherFlag{"--num_processes", one, processes},
    LauncherFlag{"--num_machines", one, nodes},
    LauncherFlag{"-m", none, module},
    LauncherFlag{"--module", none, module},
    LauncherFlag{"--no_python", none, no_python},
    LauncherFlag{"--deepspeed_config_file", one, ds_config},
    LauncherFlag{"--mixed_precision", one, variable, "ACCELERATE_MIXED_PRECISION"},
    LauncherFlag{"--gradient_accumulation_steps", one, variable,
                 "ACCELERATE_GRADIENT_ACCUMULATION_STEPS"},
    LauncherFlag{"--gradient_clipping", one, variable, "ACCELERATE_GRADIENT_CLIPPING"},
    LauncherFlag{"--zero3_init_flag", one, variable, "ACCELERATE_DEEPSPEED_ZERO3_INIT"},
    LauncherFlag{"--zero3_save_16bit_model", one, variable,
                 "ACCELERATE_DEEPSPEED_ZERO3_SAVE_16BIT_MODEL"},
    LauncherFlag{"--num_cpu_threads_per_process", one, variable, "OMP_NUM_THREADS"},
    LauncherFlag{"--use_deepspeed", none, silent},
    LauncherFlag{"--multi_gpu", none, silent},
    LauncherFlag{"-q", none, silent},
    LauncherFlag{"--quiet", none, silent},
    LauncherFlag{"--debug", none, silent},
    LauncherFlag{"--same_network", none, silent},
    LauncherFlag{"--machine_rank", one, dropped, own_start},
    LauncherFlag{"--main_process_ip", one, dropped, own_rendezvous},
    LauncherFlag{"--main_process_port", one, dropped, own_rendezvous},
    LauncherFlag{"--rdzv_backend", one, dropped, own_rendezvous},
    LauncherFlag{"--rdzv_conf", one, dropped, own_rendezvous},
    LauncherFlag{"--max_restarts", one, dropped, "slurmtune repeats what is worth repeating"},
    LauncherFlag{"--monitor_interval", one, silent},
    LauncherFlag{"--role", one, silent},
    LauncherFlag{"--log_dir", one, dropped, own_logs},
    LauncherFlag{"--tee", one, dropped, own_logs},
    LauncherFlag{"--deepspeed_multinode_launcher", one, dropped, own_start},
    LauncherFlag{"--deepspeed_hostfile", one, hostfile},
    LauncherFlag{"--deepspeed_inclusion_filter", one, include},
    LauncherFlag{"--deepspeed_exclusion_filter", one, exclude},
    LauncherFlag{"--gpu_ids", one, refused, "set CUDA_VISIBLE_DEVICES and --num_processes"},
    LauncherFlag{"--config_file", one, accelerate_config},
    LauncherFlag{"--zero_stage", one, refused, into_config},
    LauncherFlag{"--offload_optimizer_device", one, refused, into_config},
    LauncherFlag{"--offload_param_device", one, refused, into_config},
    LauncherFlag{"--offload_optimizer_nvme_path", one, refused, into_config},
    LauncherFlag{"--offload_param_nvme_path", one, refused, into_config},
    LauncherFlag{"--deepspeed_moe_layer_cls_names", one, refused, into_config},
    LauncherFlag{"--use_fsdp", none, refused, "write a study.toml: FSDP has no DeepSpeed config"},
    LauncherFlag{"--use_megatron_lm", none, refused,
                 "write a study.toml: Megatron-LM has no DeepSpeed config"},
    LauncherFlag{"--tpu", none, refused, "TPUs are not supported"},
    LauncherFlag{"--cpu", none, silent},
};

/// As argparse of torchrun and accelerate sees a flag: `-` and `_` are one.
std::string canonical(std::string_view flag, LineLauncher launcher) {
  std::string name(flag);
  const bool both = launcher == LineLauncher::torchrun || launcher == LineLauncher::torch_launch ||
                    launcher == LineLauncher::accelerate;
  if (both && name.starts_with("--")) std::replace(name.begin() + 2, name.end(), '-', '_');
  // mpirun takes its long flags with one dash or two.
  if (launcher == LineLauncher::mpi && name.starts_with("--")) name.erase(0, 1);
  return name;
}

}  // namespace

std::span<const LauncherFlag> flags_of(LineLauncher launcher) {
  switch (launcher) {
    case LineLauncher::deepspeed: return deepspeed_flags;
    case LineLauncher::torchrun:
    case LineLauncher::torch_launch: return torch_flags;
    case LineLauncher::accelerate: return accelerate_flags;
    case LineLauncher::mpi: return mpi_flags();
    case LineLauncher::srun: return srun_flags();
    case LineLauncher::none: break;
  }
  return {};
}

const LauncherFlag* find_launcher_flag(std::string_view word, LineLauncher launcher) {
  const std::string name = canonical(word, launcher);
  const LauncherFlag* begun = nullptr;
  for (const LauncherFlag& row : flags_of(launcher)) {
    if (row.name == name) return &row;
    if (!name.starts_with("--") || name.size() < 4 || !row.name.starts_with(name)) continue;
    if (begun != nullptr) return nullptr;
    begun = &row;
  }
  return begun;
}

}  // namespace slurmtune
