// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slurmtune {

// What a Slurm controller and its accounting say of a cluster, as far as a site file says it, too.
// An absent limit is none.

/// Nodes of a partition that are alike.
struct NodeKind {
  std::int64_t count = 0;
  std::int64_t cpus = 0;
  double memory_bytes = 0.0;        ///< RealMemory
  std::map<std::string, int> gpus;  ///< by the type of their GRES; "" = it has none
  std::vector<std::string> features;

  [[nodiscard]] int all_gpus() const;
};

struct ControllerPartition {
  std::string name;
  bool is_default = false;
  std::string state;  ///< UP, DOWN, DRAIN, INACTIVE
  std::optional<std::int64_t> walltime_max_s;
  std::optional<std::int64_t> nodes_max;
  std::int64_t nodes_min = 0;
  std::string qos;                            ///< whose limits hold for its jobs; "" = none
  std::vector<std::string> allowed_qos;       ///< empty = all
  std::vector<std::string> allowed_accounts;  ///< empty = all
  std::vector<std::string> submit_hosts;      ///< AllocNodes: where jobs come from; empty = all
  std::vector<NodeKind> nodes;
};

/// Limits of one user.
struct UserLimits {
  std::optional<std::int64_t> walltime_max_s;
  std::optional<std::int64_t> nodes_max;
  std::optional<std::int64_t> nodes_min;
  std::optional<std::int64_t> running_jobs_max;
  std::optional<std::int64_t> submit_jobs_max;
};

struct ControllerQos {
  std::string name;
  bool over_partition = false;       ///< flag OverPartQOS: before the partition's QOS
  bool past_partition_time = false;  ///< flag PartitionTimeLimit: its walltime may exceed that
  UserLimits limits;
};

/// What one user may charge to one account.
struct Association {
  std::string account;
  std::string partition;  ///< "" = all
  std::vector<std::string> qos;
  std::string default_qos;
  UserLimits limits;
};

struct Controller {
  std::string cluster;
  std::string version;
  std::int64_t array_size_max = 1001;
  std::int64_t job_count_max = 10'000;  ///< of all users
  bool has_accounting = false;
  bool needs_account = false;  ///< jobs without an association are refused
  std::vector<ControllerPartition> partitions;
  std::vector<std::string> licenses;
  std::vector<std::string> mpi_plugins;  ///< what srun --mpi takes; empty = not told
  std::vector<Association> associations;
  std::vector<ControllerQos> qos;

  [[nodiscard]] const ControllerPartition* default_partition() const;
  /// "" is the default partition.
  [[nodiscard]] const ControllerPartition* find_partition(std::string_view name) const;
  [[nodiscard]] const ControllerQos* find_qos(std::string_view name) const;
};

/// Where a job goes, all of it as sbatch takes it; "" = Slurm's default.
struct JobPlace {
  std::string partition;
  std::string account;
  std::string qos;
};

/// The limits of a job there. Of the partition's QOS, the job's and the association, the first
/// that has a limit sets it (resource_limits.html, "Hierarchy"); the partition's own come on top.
[[nodiscard]] UserLimits limits_at(const Controller& controller, const JobPlace& place);

}  // namespace slurmtune
