// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string_view>

#include <sys/types.h>

namespace slurmtune {

/// Where the kernel tells about processes and control groups; others only in tests.
struct KernelFiles {
  std::filesystem::path proc = "/proc";
  std::filesystem::path cgroup = "/sys/fs/cgroup";
};

/// Memory of one process as the kernel counts it all the time; shared pages are in every process
/// that has them. Source: proc(5), /proc/<pid>/status, VmRSS and VmHWM.
struct ProcessMemory {
  double resident_bytes = 0.0;
  double peak_resident_bytes = 0.0;  ///< since it executed its program
};

/// Nothing if there is no such process, or it has no memory any more.
[[nodiscard]] std::optional<ProcessMemory> process_memory(const KernelFiles& files, pid_t pid);

/// The process's proportional share: pages that n processes have count 1/n in each. Walks its page
/// tables (about 20 ns a page), so that it is not for every second.
/// Source: proc(5), /proc/<pid>/smaps_rollup. Nothing if the kernel does not tell.
[[nodiscard]] std::optional<double> proportional_bytes(const KernelFiles& files, pid_t pid);

/// The tightest memory limit that control groups put on this process, and what is used of it.
struct MemoryLimit {
  double limit_bytes = 0.0;
  /// Of the same group and all below it, without file pages that the kernel would drop first.
  double used_bytes = 0.0;
};

/// Looks at our own control group (version 1 or 2) and those above it. Nothing without a limit.
/// Source: Linux Documentation/admin-guide/cgroup-v2.rst (memory.max, memory.current),
/// cgroup-v1/memory.rst (memory.limit_in_bytes, memory.usage_in_bytes).
[[nodiscard]] std::optional<MemoryLimit> memory_limit(const KernelFiles& files);

/// A line `key   123 kB` of `text`, in bytes. `key` holds the colon.
[[nodiscard]] std::optional<double> kibibytes_after(std::string_view text, std::string_view key);

}  // namespace slurmtune
