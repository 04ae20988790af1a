// SPDX-License-Identifier: MIT
#include "slurmtune/execute/site_directives.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include <fmt/format.h>

namespace slurmtune {

namespace {

void add_given(std::vector<SbatchDirective>& directives, const char* key,
               const std::string& value) {
  if (!value.empty()) directives.push_back({.key = key, .value = value});
}

/// `a100:4`, `4`
std::string gpu_count(const Site& site, int processes_per_node) {
  const int all = site.gpus_per_node.value_or(1);
  const int count = site.exclusive ? all : std::clamp(processes_per_node, 1, all);
  return site.gpu_type.empty() ? std::to_string(count) : fmt::format("{}:{}", site.gpu_type, count);
}

void append(std::vector<SbatchDirective>& directives, std::vector<SbatchDirective> more) {
  std::move(more.begin(), more.end(), std::back_inserter(directives));
}

}  // namespace

std::vector<SbatchDirective> placement_directives(const Site& site, JobRole role) {
  std::vector<SbatchDirective> directives;
  const bool elsewhere = role == JobRole::reducer && !site.reducer_partition.empty();
  add_given(directives, "partition", elsewhere ? site.reducer_partition : site.partition);
  add_given(directives, "account", site.account);
  add_given(directives, "qos", site.qos);
  if (!elsewhere) {
    add_given(directives, "constraint", site.constraint);
    add_given(directives, "reservation", site.reservation);
  }
  add_given(directives, "licenses", site.licenses);
  if (site.nice) add_given(directives, "nice", std::to_string(*site.nice));
  add_given(directives, "exclude", fmt::format("{}", fmt::join(site.exclude, ",")));
  return directives;
}

std::vector<SbatchDirective> resource_directives(const Site& site, int processes_per_node) {
  std::vector<SbatchDirective> directives;
  const std::string gpus = gpu_count(site, processes_per_node);
  switch (site.gpu_request) {
    case GpuRequest::gres: add_given(directives, "gres", "gpu:" + gpus); break;
    case GpuRequest::gpus_per_node: add_given(directives, "gpus-per-node", gpus); break;
    case GpuRequest::none:
    case GpuRequest::constraint: break;
  }
  if (site.cpus_per_task) {
    add_given(directives, "cpus-per-task", std::to_string(*site.cpus_per_task));
  }
  add_given(directives, "mem", site.mem);
  add_given(directives, "mem-per-cpu", site.mem_per_cpu);
  add_given(directives, "mem-per-gpu", site.mem_per_gpu);
  return directives;
}

std::vector<SbatchDirective> nodes_directives(const Site& site, const NodesJob& job) {
  std::vector<SbatchDirective> directives{{.key = "job-name", .value = job.name}};
  append(directives, placement_directives(site, JobRole::trials));
  directives.push_back({.key = "nodes", .value = std::to_string(job.nodes)});
  if (site.exclusive) directives.push_back({.key = "exclusive", .value = ""});
  // Without whole nodes a step gets no more CPUs than its job asked for.
  if (!site.exclusive || site.cpus_per_task) {
    directives.push_back(
        {.key = "ntasks-per-node", .value = std::to_string(job.processes_per_node)});
  }
  directives.push_back({.key = "time", .value = format_walltime(job.walltime)});
  append(directives, resource_directives(site, job.processes_per_node));
  return directives;
}

Expected<void> add_site_options(const Site& site, JobRole role,
                                std::vector<SbatchDirective>& directives) {
  std::vector<std::string> options = site.sbatch_options;
  const auto& own = role == JobRole::trials ? site.array_options : site.reducer_options;
  options.insert(options.end(), own.begin(), own.end());
  for (const std::string& option : options) {
    SLURMTUNE_TRY(SbatchDirective directive, parse_site_option(option));
    directives.push_back(std::move(directive));
  }
  return {};
}

}  // namespace slurmtune
