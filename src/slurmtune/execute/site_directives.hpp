// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/execute/sbatch_directives.hpp"
#include "slurmtune/input/site.hpp"

namespace slurmtune {

/// Which jobs a directive is for.
enum class JobRole {
  trials,   ///< array tasks, and jobs that hold a study or the training
  reducer,  ///< one core: reducers, guard, final
};

/// Where a job goes: partition, account, QOS, constraint, reservation, licences, nice, excluded
/// nodes. A constraint and a reservation name nodes that another `reducer_partition` need not have.
[[nodiscard]] std::vector<SbatchDirective> placement_directives(const Site& site, JobRole role);

/// The GPUs, CPUs and memory that a job of trials asks for on each of its nodes. With whole nodes
/// (`exclusive`) it asks for all of their GPUs, else for one a process.
[[nodiscard]] std::vector<SbatchDirective> resource_directives(const Site& site,
                                                               int processes_per_node);

/// What a job asks for that holds nodes of a site: an array task, a training.
struct NodesJob {
  std::string name;
  int nodes = 1;
  int processes_per_node = 1;  ///< asked for where a job shares its nodes
  std::chrono::seconds walltime{600};
};

/// Name, place, nodes, CPUs, time and the resources of each node of such a job.
[[nodiscard]] std::vector<SbatchDirective> nodes_directives(const Site& site, const NodesJob& job);

/// Appends the site's own options for such jobs. Errors: invalid_input, as parse_site_option.
[[nodiscard]] Expected<void> add_site_options(const Site& site, JobRole role,
                                              std::vector<SbatchDirective>& directives);

}  // namespace slurmtune
