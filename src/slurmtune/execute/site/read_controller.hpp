// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/execute/site/controller.hpp"

namespace slurmtune {

/// What was asked, as it was answered. Sites print greetings around it, which are skipped.
struct ControllerTexts {
  std::string config;        ///< scontrol show config
  std::string partitions;    ///< scontrol --oneliner show partition
  std::string nodes;         ///< sinfo --exact --format=node_format
  std::string licenses;      ///< scontrol --oneliner show licenses
  std::string mpi;           ///< srun --mpi=list
  std::string associations;  ///< sacctmgr --parsable2 show assoc format=association_format
  std::string qos;           ///< sacctmgr --parsable2 show qos format=qos_format
};

/// sinfo's fields: partition, nodes, CPUs, MiB of memory, GRES, features.
inline constexpr std::string_view node_format = "%R|%D|%c|%m|%G|%f";
inline constexpr std::string_view association_format =
    "Account,Partition,QOS,DefaultQOS,MaxJobs,MaxSubmit,MaxWall,MaxTRES";
inline constexpr std::string_view qos_format =
    "Name,Flags,MaxWall,MaxJobsPU,MaxSubmitPU,MaxTRES,MinTRES";

/// True if the configuration names a database, so that sacctmgr has something to say.
[[nodiscard]] bool has_accounting(std::string_view config);

/// Errors: unavailable if these are no answers of Slurm: no configuration, no partition.
[[nodiscard]] Expected<Controller> read_controller(const ControllerTexts& texts);

/// Partitions of `scontrol --oneliner show partition`, without their nodes.
[[nodiscard]] std::vector<ControllerPartition> read_partitions(std::string_view text);

/// One node of `scontrol --oneliner show node`.
struct NodeState {
  std::string name;
  std::string state;   ///< `IDLE`, `MIXED+DRAIN`, `DOWN*`
  std::string reason;  ///< of whoever drained it; "" = none given
  std::vector<std::string> partitions;
};
[[nodiscard]] std::vector<NodeState> read_node_states(std::string_view text);

/// `1-00:00:00`, `00:05:00`, `30` (minutes) in seconds; absent for UNLIMITED, INFINITE and "".
[[nodiscard]] std::optional<std::int64_t> slurm_time_limit(std::string_view text);

/// `gpu:a100:4(S:0-1),gpu:1,nvme:800`: the GPUs, by type.
[[nodiscard]] std::map<std::string, int> gpus_of_gres(std::string_view gres);

}  // namespace slurmtune
