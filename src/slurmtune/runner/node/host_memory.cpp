// SPDX-License-Identifier: MIT
#include "slurmtune/runner/node/host_memory.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "slurmtune/runner/judge/kernel_oom.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace fs = std::filesystem;

namespace {

constexpr double bytes_per_kib = 1024.0;
/// Version 1 says "no limit" by the largest multiple of a page; nobody has an exbibyte.
constexpr double no_limit_bytes = 1e18;

std::optional<double> number_after(std::string_view text, std::string_view key) {
  std::size_t at = text.starts_with(key) ? 0 : std::string_view::npos;
  if (at != 0) {
    at = text.find("\n" + std::string(key));
    if (at == std::string_view::npos) return std::nullopt;
    ++at;
  }
  text.remove_prefix(at + key.size());
  text.remove_prefix(std::min(text.size(), text.find_first_not_of(" \t")));
  double value = 0.0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) {
    return std::nullopt;
  }
  return value;
}

/// A file that holds one number. `max` is none.
std::optional<double> number_in(const fs::path& file) {
  const auto text = read_file(file);
  return text ? number_after(*text, "") : std::nullopt;
}

/// The names that the two versions have for the same things.
struct Names {
  const char* limit;
  const char* used;
  const char* droppable;  ///< in memory.stat
};
constexpr Names version_2{"memory.max", "memory.current", "inactive_file "};
constexpr Names version_1{"memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file "};

std::optional<MemoryLimit> limit_of(const fs::path& group, const Names& names) {
  const auto limit = number_in(group / names.limit);
  if (!limit || *limit >= no_limit_bytes) return std::nullopt;
  MemoryLimit found{*limit, number_in(group / names.used).value_or(0.0)};
  if (const auto stat = read_file(group / "memory.stat")) {
    found.used_bytes -= number_after(*stat, names.droppable).value_or(0.0);
  }
  found.used_bytes = std::max(0.0, found.used_bytes);
  return found;
}

/// Where our group is, seen from within its own name space too, where its path does not exist.
fs::path existing(const fs::path& group, const fs::path& root) {
  std::error_code error;
  if (!group.empty() && fs::exists(group, error)) return group;
  return fs::exists(root / "memory" / version_1.limit, error) ? root / "memory" : root;
}

}  // namespace

std::optional<double> kibibytes_after(std::string_view text, std::string_view key) {
  const auto value = number_after(text, key);
  return value ? std::optional(*value * bytes_per_kib) : std::nullopt;
}

std::optional<ProcessMemory> process_memory(const KernelFiles& files, pid_t pid) {
  const auto text = read_file(files.proc / std::to_string(pid) / "status");
  if (!text) return std::nullopt;
  const auto resident = kibibytes_after(*text, "VmRSS:");
  if (!resident) return std::nullopt;  // a zombie, or a thread of the kernel
  return ProcessMemory{*resident, kibibytes_after(*text, "VmHWM:").value_or(*resident)};
}

std::optional<double> proportional_bytes(const KernelFiles& files, pid_t pid) {
  const auto text = read_file(files.proc / std::to_string(pid) / "smaps_rollup");
  return text ? kibibytes_after(*text, "Pss:") : std::nullopt;
}

std::optional<MemoryLimit> memory_limit(const KernelFiles& files) {
  const auto groups = read_file(files.proc / "self/cgroup");
  if (!groups) return std::nullopt;
  fs::path group = existing(memory_group(*groups, files.cgroup), files.cgroup);
  std::optional<MemoryLimit> tightest;
  constexpr int depth_max = 64;
  for (int depth = 0; depth < depth_max; ++depth) {
    for (const Names& names : {version_2, version_1}) {
      const auto limit = limit_of(group, names);
      if (limit && (!tightest || limit->limit_bytes < tightest->limit_bytes)) tightest = limit;
    }
    if (group == files.cgroup || !group.has_relative_path()) break;
    group = group.parent_path();
  }
  return tightest;
}

}  // namespace slurmtune
