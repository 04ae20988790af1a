// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace slurmtune {

/// How array jobs ask for the GPUs of their nodes (sbatch(1)).
enum class GpuRequest {
  none,           ///< they come with the node
  constraint,     ///< they come with the node that `constraint` names
  gres,           ///< --gres=gpu:TYPE:N
  gpus_per_node,  ///< --gpus-per-node=TYPE:N
};

/// What is true of one cluster: a site file, its [[queue]]s for where the jobs go, and [slurm] of
/// study.toml, each over the one before.
struct Site {
  std::string name = "generic";

  // Where jobs go; "" = Slurm's own default.
  std::string partition;
  std::string reducer_partition;  ///< for reducers; "" = partition
  std::string account;
  std::string qos;
  std::string constraint;
  std::string reservation;
  std::string licenses;
  std::string begin;                 ///< the first jobs start no earlier; sbatch's words
  std::optional<int> nice;           ///< added to what lowers the priority of a job
  std::vector<std::string> exclude;  ///< nodes that no job shall get, names or `n[1-4]`
  /// Whom Slurm mails when a study starts, fails and ends: an address or a user; "" = nobody.
  std::string mail;
  std::vector<std::string> sbatch_options;   ///< further options, one `--key=value` each, every job
  std::vector<std::string> array_options;    ///< the same, array jobs only (`--gpus-per-node=4`)
  std::vector<std::string> reducer_options;  ///< the same, reducers, guard and final only
  std::vector<std::string> modules;          ///< shell lines at the head of every job script
  bool exclusive = true;                     ///< array tasks ask for whole nodes
  GpuRequest gpu_request = GpuRequest::none;
  std::string gpu_type;              ///< as GRES name it; "" = any
  std::optional<int> cpus_per_task;  ///< CPUs that array jobs ask for, for each process of a trial
  // Memory that array jobs ask for, in sbatch's words; one of the three at most.
  std::string mem;
  std::string mem_per_cpu;
  std::string mem_per_gpu;

  // Hardware of one node; absent = unknown.
  std::optional<int> gpus_per_node;
  std::optional<double> gpu_bytes;  ///< memory of one GPU (of one rank, where there is no GPU)
  std::optional<int> cpus_per_node;
  std::optional<double> node_bytes;  ///< memory of one node that jobs may have

  // Limits, as the site says them; `slurmtune site check` asks the controller for its own.
  std::int64_t array_size_max = 1001;   ///< MaxArraySize: largest index + 1
  std::int64_t submit_jobs_max = 1000;  ///< jobs of one user, array tasks counted one by one
  std::optional<std::int64_t> running_jobs_max;  ///< of those, how many run at once
  bool jobs_can_submit = true;                   ///< jobs may submit jobs
  std::int64_t walltime_max_s = 86'400;
  std::optional<std::int64_t> nodes_min;  ///< of one job
  std::optional<std::int64_t> nodes_max;
  // What the centre asks of its users and no controller enforces.
  std::optional<double> job_minutes_min;  ///< how long a job should last
  std::optional<std::int64_t> jobs_per_minute_max;
  int lanes = 1;                   ///< experiments that a task runs at once
  int lanes_per_node = 1;          ///< lanes that share a node, where a trial takes one node
  double min_task_minutes = 10.0;  ///< experiments are packed so that a task lasts this long
  bool probe_tasks = true;         ///< each task measures its nodes first, where they are its own
  bool no_queue = false;           ///< a round of experiments waits for nothing: many small ones
  double reducer_minutes = 10.0;
  double fs_settle_s = 30.0;  ///< how long a file written on one node may stay unseen on another

  std::string mpi = "pmix";  ///< srun --mpi of the default runner_launch; "" = srun's own default

  // How the job script starts one runner rank a node, and how the runner starts a trial (an argv
  // prefix; the launcher adds counts and node lists). Empty = the launcher's own default.
  std::vector<std::string> runner_launch;
  std::vector<std::string> trial_launch;

  // What prints the node-hours that are left to the account, and the pattern that finds them.
  std::vector<std::string> balance_command;
  std::string balance_pattern;
};

}  // namespace slurmtune
