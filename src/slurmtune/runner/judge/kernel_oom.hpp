// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string_view>

namespace slurmtune {

/// How often the kernel has killed a process of this process's control group, or of one below it,
/// for memory. 0 where control groups tell nothing.
/// Source: Linux Documentation/admin-guide/cgroup-v2.rst (memory.events), cgroup-v1/memory.rst
/// (memory.oom_control).
[[nodiscard]] std::int64_t kernel_oom_kills();

/// The counter in the text of memory.events or memory.oom_control.
[[nodiscard]] std::optional<std::int64_t> parse_oom_kills(std::string_view text);

/// The directory of a process's memory control group, from the text of /proc/<pid>/cgroup; empty
/// if there is none. `root` is where control groups are mounted.
[[nodiscard]] std::filesystem::path memory_group(std::string_view proc_cgroup,
                                                 const std::filesystem::path& root);

}  // namespace slurmtune
