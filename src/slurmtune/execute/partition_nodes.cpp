// SPDX-License-Identifier: MIT
#include "slurmtune/execute/partition_nodes.hpp"

#include <algorithm>
#include <chrono>
#include <set>

#include "slurmtune/execute/process.hpp"
#include "slurmtune/execute/slurm_words.hpp"

namespace slurmtune {

namespace {

constexpr std::chrono::seconds sinfo_timeout{20};

}  // namespace

std::optional<std::int64_t> count_nodes(std::string_view output, std::string_view partition) {
  std::set<std::string_view> nodes;
  while (!output.empty()) {
    const std::size_t newline = std::min(output.find('\n'), output.size());
    const std::string_view line = output.substr(0, newline);
    output.remove_prefix(std::min(newline + 1, output.size()));
    const std::size_t bar = line.find('|');
    if (bar == std::string_view::npos) continue;
    std::string_view name = line.substr(0, bar);
    const bool is_default = name.ends_with('*');
    if (is_default) name.remove_suffix(1);
    if (partition.empty() ? is_default : name == partition) nodes.insert(line.substr(bar + 1));
  }
  if (nodes.empty()) return std::nullopt;
  return static_cast<std::int64_t>(nodes.size());
}

std::optional<std::int64_t> nodes_of_partition(const std::string& partition) {
  if (!find_program("sinfo")) return std::nullopt;
  const auto result =
      run_process({.call = {.argv = {"sinfo", "--noheader", "--Node", "--format=%P|%N"},
                            .environment = submission_environment(current_environment()),
                            .workdir = ""},
                   .input = "",
                   .timeout = sinfo_timeout});
  if (!result || result->ending == Ending::timed_out || !result->status.success()) {
    return std::nullopt;
  }
  return count_nodes(result->out, partition);
}

}  // namespace slurmtune
