// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace slurmtune {

/// What is true of one cluster: a site file, with [slurm] of study.toml over it.
struct Site {
  std::string name = "generic";

  // Where jobs go; "" = Slurm's own default.
  std::string partition;
  std::string reducer_partition;  ///< for reducers; "" = partition
  std::string account;
  std::string qos;
  std::string constraint;
  std::vector<std::string> exclude;         ///< nodes that no job shall get, names or `n[1-4]`
  std::vector<std::string> sbatch_options;  ///< further options, one `--key=value` each, every job
  std::vector<std::string> array_options;   ///< the same, array jobs only (`--gpus-per-node=4`)
  std::vector<std::string> modules;         ///< shell lines at the head of every job script
  bool exclusive = true;                    ///< array tasks ask for whole nodes

  // Hardware of one node; absent = unknown.
  std::optional<int> gpus_per_node;
  std::optional<double> gpu_bytes;  ///< memory of one GPU (of one rank, where there is no GPU)
  std::optional<int> cpus_per_node;

  // Limits, as the site says them: this version does not ask the controller for its own.
  std::int64_t array_size_max = 1001;   ///< MaxArraySize: largest index + 1
  std::int64_t submit_jobs_max = 1000;  ///< jobs of one user, array tasks counted one by one
  std::int64_t walltime_max_s = 86'400;
  int lanes = 1;                   ///< experiments that a task runs at once
  int lanes_per_node = 1;          ///< lanes that share a node, where a trial takes one node
  double min_task_minutes = 10.0;  ///< experiments are packed so that a task lasts this long
  bool probe_tasks = true;         ///< each task measures its nodes first, where they are its own
  bool no_queue = false;           ///< a round of experiments waits for nothing: many small ones
  double reducer_minutes = 10.0;
  double fs_settle_s = 30.0;  ///< how long a file written on one node may stay unseen on another

  // How the job script starts one runner rank a node, and how the runner starts a trial (an argv
  // prefix; the launcher adds counts and node lists). Empty = the launcher's own default.
  std::vector<std::string> runner_launch;
  std::vector<std::string> trial_launch;
};

}  // namespace slurmtune
