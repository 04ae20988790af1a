// SPDX-License-Identifier: MIT
#include "slurmtune/runner/node/node_facts.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "slurmtune/execute/cpu_affinity.hpp"
#include "slurmtune/runner/node/nvml.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace fs = std::filesystem;

namespace {

/// The file's first line; "" if it cannot be read (the speed of an interface that is down).
std::string first_line(const fs::path& path) {
  const auto text = read_file(path);
  return text ? text->substr(0, text->find('\n')) : "";
}

std::optional<double> number(std::string_view text) {
  double value = 0.0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || value <= 0.0) return std::nullopt;
  return value;
}

/// The entries of a directory, sorted; none if it is not there.
std::vector<fs::path> entries(const fs::path& directory) {
  std::vector<fs::path> all;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) all.push_back(entry.path());
  std::sort(all.begin(), all.end());
  return all;
}

std::vector<NetworkInterface> interfaces_of(const FactSources& sources) {
  constexpr double bits_per_mbit = 1e6;
  constexpr double bits_per_gbit = 1e9;
  std::vector<NetworkInterface> all;
  for (const fs::path& path : entries(sources.net)) {
    if (path.filename() == "lo") continue;
    const auto speed = number(first_line(path / "speed"));  // Mbit/s, -1 = unknown
    all.push_back({path.filename().string(), first_line(path / "operstate"),
                   speed ? std::optional(*speed * bits_per_mbit) : std::nullopt});
  }
  for (const fs::path& adapter : entries(sources.infiniband)) {
    for (const fs::path& port : entries(adapter / "ports")) {
      std::string state = first_line(port / "state");  // `4: ACTIVE`
      state.erase(0, std::min(state.size(), state.find_first_not_of("0123456789: ")));
      std::transform(state.begin(), state.end(), state.begin(),
                     [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
      const auto rate = number(first_line(port / "rate"));  // `200 Gb/sec (4X HDR)`
      all.push_back({adapter.filename().string() + "/" + port.filename().string(), state,
                     rate ? std::optional(*rate * bits_per_gbit) : std::nullopt});
    }
  }
  return all;
}

/// The processor's name as /proc/cpuinfo has it (`model name`; `CPU part` elsewhere is no name).
std::string processor_of(const KernelFiles& kernel) {
  const auto text = read_file(kernel.proc / "cpuinfo");
  if (!text) return "";
  const std::size_t key = text->find("model name");
  if (key == std::string::npos) return "";
  const std::size_t end = text->find('\n', key);
  std::size_t begin = text->find(':', key);
  if (begin == std::string::npos || begin > end) return "";
  begin = text->find_first_not_of(": \t", begin);
  return text->substr(begin, end - begin);
}

void add_gpus(NodeFacts& facts, const Environment& environment, const std::string& library) {
  const auto nvml = Nvml::load(library);
  if (!nvml) {
    facts.no_gpu_because = nvml.error().message;
    return;
  }
  facts.driver = nvml->driver();
  const auto ours = visible_gpus(nvml->gpus(), environment);
  facts.gpus = static_cast<int>(ours.size());
  if (ours.empty()) facts.no_gpu_because = "the job may use none of the node's GPUs";
  for (const std::size_t at : ours) {
    const GpuFacts& gpu = nvml->gpus()[at];
    if (facts.gpu.empty()) facts.gpu = gpu.name;
    facts.gpu_bytes = std::min(facts.gpu_bytes.value_or(gpu.bytes), gpu.bytes);
  }
}

}  // namespace

NodeFacts read_node_facts(const std::string& node, const Environment& environment,
                          const FactSources& sources) {
  NodeFacts facts;
  facts.node = node;
  facts.processor = processor_of(sources.kernel);
  facts.cores = static_cast<int>(allowed_cpus().size());
  facts.cores_online = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  if (const auto text = read_file(sources.kernel.proc / "meminfo")) {
    facts.host_bytes = kibibytes_after(*text, "MemTotal:");
  }
  if (const auto limit = memory_limit(sources.kernel)) {
    facts.memory_limit_bytes = limit->limit_bytes;
  }
  add_gpus(facts, environment, sources.nvml);
  facts.interfaces = interfaces_of(sources);
  return facts;
}

int cores_of_job(const Environment& environment) {
  const auto text = variable(environment, "SLURM_CPUS_ON_NODE");
  return text ? static_cast<int>(number(*text).value_or(0.0)) : 0;
}

Expected<void> check_node(const NodeFacts& facts, const NodeNeeds& needs, int job_cores) {
  const int there = job_cores > 0 ? std::min(job_cores, facts.cores_online) : facts.cores_online;
  const int wanted = std::min(needs.processes, there);
  if (facts.cores > 0 && facts.cores < wanted) {
    return invalid_input(fmt::format(
        "node {}: the runner is bound to {} of {} cores, and so would be the {} ranks of each "
        "trial there: add --cpu-bind=none to what starts the runner (srun --cpu-bind=none, mpirun "
        "--bind-to none; site key runner_launch) and ask for the cores (--cpus-per-task)",
        facts.node, facts.cores, there, needs.processes));
  }
  if (needs.gpus > facts.gpus) {
    const std::string why =
        facts.no_gpu_because.empty() ? "" : fmt::format(" ({})", facts.no_gpu_because);
    return invalid_input(fmt::format(
        "node {}: a trial needs {} GPUs there, and the job may use {}{}: ask for them "
        "in [slurm], e.g. gpu_request = \"gpus-per-node\" (or \"gres\"), gpus_per_node = {}",
        facts.node, needs.gpus, facts.gpus, why, needs.gpus));
  }
  return {};
}

}  // namespace slurmtune
