// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/record/node.hpp"
#include "slurmtune/runner/node/host_memory.hpp"
#include "slurmtune/runner/start/environment.hpp"

namespace slurmtune {

/// Where facts are read; others only in tests.
struct FactSources {
  KernelFiles kernel{};
  std::filesystem::path net = "/sys/class/net";
  std::filesystem::path infiniband = "/sys/class/infiniband";
  std::string nvml;  ///< as in Nvml::load
};

/// What the node is that this process runs on, under the name `node`. Which GPUs are ours is told
/// by `environment`. Takes some milliseconds (NVML up to a second).
[[nodiscard]] NodeFacts read_node_facts(const std::string& node, const Environment& environment,
                                        const FactSources& sources = {});

/// What a trial needs of each of its nodes.
struct NodeNeeds {
  int processes = 1;  ///< ranks of the trial
  int gpus = 0;       ///< 0 = any number, none included
};

/// Whether trials can run on a node as they should. Fewer cores than ranks are the user's choice;
/// a runner that is bound to fewer than the job has there is a mistake of the launch line, since
/// all that it starts inherits that.
/// `job_cores` is what the job has on the node (SLURM_CPUS_ON_NODE), 0 if nobody tells.
/// Errors: invalid_input, with what to write.
[[nodiscard]] Expected<void> check_node(const NodeFacts& facts, const NodeNeeds& needs,
                                        int job_cores);

/// SLURM_CPUS_ON_NODE; 0 if it is not there.
[[nodiscard]] int cores_of_job(const Environment& environment);

}  // namespace slurmtune
