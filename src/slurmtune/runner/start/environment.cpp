// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/environment.hpp"

#include <algorithm>
#include <array>

#include <sys/stat.h>
#include <unistd.h>

#include "slurmtune/execute/mpi_variables.hpp"

namespace slurmtune {

namespace {

template <std::size_t Size>
bool starts_with_any(std::string_view name, const std::array<std::string_view, Size>& prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

/// What srun tells the tasks of a step, or takes as its own options.
bool is_told_by_srun(std::string_view name) {
  constexpr std::array<std::string_view, 24> prefixes{
      "SLURM_STEP",        "SLURM_PROCID",       "SLURM_LOCALID",    "SLURM_NODEID",
      "SLURM_GTIDS",       "SLURM_TASK_PID",     "SLURM_NTASKS",     "SLURM_NPROCS",
      "SLURM_TASKS_PER_",  "SLURM_MPI_TYPE",     "SLURM_PMIX",       "SLURM_CPU_BIND",
      "SLURM_CPUS_PER_TA", "SRUN_CPUS_PER_TAS",  "SLURM_MEM_BIND",   "SLURM_LAUNCH_NODE",
      "SLURM_SRUN_COMM",   "SLURM_DISTRIBUTION", "SLURM_OVERCOMMIT", "SLURM_WHOLE",
      "SLURM_EXACT",       "SLURM_OVERLAP",      "SLURM_LABELIO",    "SLURM_EXPORT_ENV"};
  return starts_with_any(name, prefixes);
}

bool is_executable_file(const std::string& path) {
  struct stat status {};
  return ::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Environment own_environment() {
  Environment environment;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) continue;
    environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

Environment parse_environment(std::string_view bytes) {
  Environment environment;
  while (!bytes.empty()) {
    const std::string_view entry = bytes.substr(0, bytes.find('\0'));
    bytes.remove_prefix(std::min(bytes.size(), entry.size() + 1));
    const std::size_t equals = entry.find('=');
    if (equals == std::string_view::npos || equals == 0) continue;
    environment[std::string(entry.substr(0, equals))] = entry.substr(equals + 1);
  }
  return environment;
}

std::vector<std::string> environment_entries(const Environment& environment) {
  std::vector<std::string> entries;
  entries.reserve(environment.size());
  for (const auto& [name, value] : environment) {
    entries.push_back(name);
    entries.back().append("=").append(value);
  }
  return entries;
}

std::optional<std::string> variable(const Environment& environment, const std::string& name) {
  const auto found = environment.find(name);
  if (found == environment.end()) return std::nullopt;
  return found->second;
}

void scrub_launch_variables(Environment& environment) {
  std::erase_if(environment, [](const auto& entry) {
    const std::string_view name = entry.first;
    if (name.starts_with("PMIX_") || name.starts_with("PMI_")) return true;
    if (name.starts_with("OMPI_MCA_")) return is_told_by_mpirun(name);
    if (name.starts_with("OMPI_ALLOW_RUN_AS_ROOT")) return false;
    return name.starts_with("OMPI_") || is_told_by_srun(name);
  });
}

std::optional<std::string> find_executable(const std::string& name, const Environment& environment,
                                           const std::string& workdir) {
  if (name.empty()) return std::nullopt;
  if (name.find('/') != std::string::npos) {
    std::string path = name.front() == '/' ? name : workdir + "/" + name;
    if (is_executable_file(path)) return path;
    return std::nullopt;
  }
  const std::string search = variable(environment, "PATH").value_or("/usr/local/bin:/usr/bin:/bin");
  for (std::size_t at = 0; at <= search.size();) {
    const std::size_t end = std::min(search.find(':', at), search.size());
    std::string path = end == at ? workdir : search.substr(at, end - at);
    path.append("/").append(name);
    if (is_executable_file(path)) return path;
    at = end + 1;
  }
  return std::nullopt;
}

}  // namespace slurmtune
