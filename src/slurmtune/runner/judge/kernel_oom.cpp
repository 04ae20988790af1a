// SPDX-License-Identifier: MIT
#include "slurmtune/runner/judge/kernel_oom.hpp"

#include <algorithm>
#include <charconv>
#include <string>

#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace {

/// The next line of `text`, which loses it.
std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(text.size(), line.size() + 1));
  return line;
}

/// A path of /proc/<pid>/cgroup, below `root`.
std::filesystem::path below(const std::filesystem::path& root, std::string_view path) {
  while (path.starts_with('/')) path.remove_prefix(1);
  return path.empty() ? root : root / path;
}

bool names_memory(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::string_view one = controllers.substr(0, controllers.find(','));
    if (one == "memory") return true;
    controllers.remove_prefix(std::min(controllers.size(), one.size() + 1));
  }
  return false;
}

}  // namespace

std::optional<std::int64_t> parse_oom_kills(std::string_view text) {
  constexpr std::string_view key = "oom_kill ";
  while (!text.empty()) {
    const std::string_view line = take_line(text);
    if (!line.starts_with(key)) continue;
    std::int64_t value = 0;
    const char* end = line.data() + line.size();
    if (std::from_chars(line.data() + key.size(), end, value).ec == std::errc{}) return value;
  }
  return std::nullopt;
}

std::filesystem::path memory_group(std::string_view proc_cgroup,
                                   const std::filesystem::path& root) {
  std::filesystem::path unified;
  while (!proc_cgroup.empty()) {
    // hierarchy:controllers:path
    const std::string_view line = take_line(proc_cgroup);
    const std::size_t first = line.find(':');
    const std::size_t second = line.find(':', first + 1);
    if (first == std::string_view::npos || second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view path = line.substr(second + 1);
    if (names_memory(controllers)) return below(root / "memory", path);
    if (controllers.empty()) unified = below(root, path);
  }
  return unified;
}

std::int64_t kernel_oom_kills() {
  const auto groups = read_file("/proc/self/cgroup");
  if (!groups) return 0;
  const std::filesystem::path group = memory_group(*groups, "/sys/fs/cgroup");
  if (group.empty()) return 0;
  for (const char* name : {"memory.events", "memory.oom_control"}) {
    const auto text = read_file(group / name);
    if (!text) continue;
    if (const auto kills = parse_oom_kills(*text)) return *kills;
  }
  return 0;
}

}  // namespace slurmtune
