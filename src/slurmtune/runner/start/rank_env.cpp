// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/rank_env.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <optional>
#include <string_view>
#include <vector>

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include "slurmtune/base/local_rank.hpp"
#include "slurmtune/runner/start/supervise.hpp"

namespace slurmtune {

namespace {

constexpr int exit_invalid_input = 2;
constexpr int exit_not_executable = 126;
constexpr int exit_not_found = 127;

struct RankNames {
  std::string_view rank, size, local_rank, local_size, node;
};

constexpr RankNames open_mpi{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
                             "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", ""};
// MPICH and Intel MPI; the local rank is Hydra's alone, so that srun --mpi=pmi2 is not mistaken.
constexpr RankNames hydra{"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS", ""};
// SLURM_NTASKS may be the job's; SLURM_STEP_NUM_TASKS is the step's.
constexpr RankNames slurm{"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", "",
                          "SLURM_NODEID"};

/// Tasks on node `node` by SLURM_STEP_TASKS_PER_NODE: `2(x3),1` is 2, 2, 2, 1.
std::optional<int> tasks_on_node(std::string_view text, int node) {
  while (!text.empty()) {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    int tasks = 0;
    int times = 1;
    const char* end = item.data() + item.size();
    const auto [after, problem] = std::from_chars(item.data(), end, tasks);
    if (problem != std::errc{}) return std::nullopt;
    if (std::string_view(after, static_cast<std::size_t>(end - after)).starts_with("(x")) {
      std::from_chars(after + 2, end, times);
    }
    if (node < times) return tasks;
    node -= times;
  }
  return std::nullopt;
}

void set_all(const Environment& environment, const RankNames& names, Environment& into) {
  const auto copy = [&](std::string_view from, const char* to) {
    if (from.empty()) return;
    if (const auto value = variable(environment, std::string(from))) into[to] = *value;
  };
  copy(names.rank, "RANK");
  copy(names.size, "WORLD_SIZE");
  copy(names.local_rank, "LOCAL_RANK");
  copy(names.local_size, "LOCAL_WORLD_SIZE");
  copy(names.node, "NODE_RANK");
}

/// As execve(2) wants it: the texts, and a null pointer after them.
std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

/// Who started this rank. Hydra may do so by srun, whose own words are about its proxies then.
const RankNames& names_in(const Environment& environment) {
  if (environment.contains(std::string(open_mpi.rank))) return open_mpi;
  return environment.contains(std::string(hydra.local_rank)) ? hydra : slurm;
}

int number_or(const Environment& environment, const std::string& name, int otherwise) {
  const auto text = variable(environment, name);
  int value = otherwise;
  if (text) std::from_chars(text->data(), text->data() + text->size(), value);
  return value;
}

/// The runner may have opened an output for this rank alone. Where it cannot be opened, the
/// launcher's way serves.
void write_to_own_output(Environment& environment) {
  const auto paths = variable(environment, rank_outputs_variable);
  if (!paths) return;
  environment.erase(rank_outputs_variable);
  std::string_view left = *paths;
  for (int rank = number_or(environment, "RANK", 0); rank > 0 && !left.empty(); --rank) {
    left.remove_prefix(std::min(left.size(), left.find(':') + 1));
  }
  const std::string path(left.substr(0, left.find(':')));
  const int output = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  if (output < 0) return;
  ::dup2(output, STDOUT_FILENO);
  ::dup2(output, STDERR_FILENO);
  ::close(output);
}

}  // namespace

Expected<Environment> rank_variables(const Environment& environment) {
  Environment variables;
  const RankNames& names = names_in(environment);
  set_all(environment, names, variables);
  if (!variables.contains("RANK") || !variables.contains("WORLD_SIZE")) {
    return invalid_input(
        "rank-env: no rank: none of OMPI_COMM_WORLD_RANK, PMI_RANK and SLURM_PROCID is set; it is "
        "started by mpirun or srun only");
  }
  if (names.node.empty()) {
    // Ranks fill node after node (mpirun's --map-by slot), so the node follows from the rank.
    const int local_size = std::max(1, number_or(variables, "LOCAL_WORLD_SIZE", 1));
    variables["NODE_RANK"] = std::to_string(number_or(variables, "RANK", 0) / local_size);
  } else {
    const int node = number_or(variables, "NODE_RANK", 0);
    const auto layout = variable(environment, "SLURM_STEP_TASKS_PER_NODE");
    const auto tasks = layout ? tasks_on_node(*layout, node) : std::nullopt;
    variables["LOCAL_WORLD_SIZE"] = tasks ? std::to_string(*tasks) : variables.at("WORLD_SIZE");
  }
  variables["LOCAL_SIZE"] = variables["LOCAL_WORLD_SIZE"];
  variables["PYTHONUNBUFFERED"] = "1";
  return variables;
}

int run_rank_env(std::span<const std::string> argv) {
  if (argv.empty()) {
    fmt::print(stderr, "slurmtune-runner: rank-env: no program after --\n");
    return exit_invalid_input;
  }
  Environment environment = own_environment();
  auto variables = rank_variables(environment);
  if (!variables) {
    fmt::print(stderr, "slurmtune-runner: {}\n", variables.error().message);
    return exit_invalid_input;
  }
  for (auto& [name, value] : *variables) environment[name] = std::move(value);
  write_to_own_output(environment);

  std::vector<std::string> entries = environment_entries(environment);
  std::vector<char*> pointers = pointers_to(entries);
  std::vector<std::string> words(argv.begin(), argv.end());
  const std::string local_rank = variable(environment, "LOCAL_RANK").value_or("0");
  for (std::string& word : words) word = with_local_rank(std::move(word), local_rank);
  std::vector<char*> arguments = pointers_to(words);
  const int problem = run_supervised(arguments.front(), arguments.data(), pointers.data());
  fmt::print(stderr, "slurmtune-runner: rank-env: cannot execute '{}': {}\n", words.front(),
             std::strerror(problem));
  return problem == ENOENT ? exit_not_found : exit_not_executable;
}

}  // namespace slurmtune
