// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <vector>

namespace slurmtune {

/// CPUs that this thread may run on, ascending; none where the system does not tell.
/// Source: sched_getaffinity(2).
[[nodiscard]] std::vector<int> allowed_cpus();

/// A set of CPUs as sched_setaffinity(2) takes it, for nodes of any number of them.
class CpuSet {
 public:
  explicit CpuSet(std::span<const int> cpus);

  /// Lets the calling thread, and what it starts, run on these CPUs alone; false if the system
  /// refuses. Async-signal-safe.
  bool apply() const;  // NOLINT(modernize-use-nodiscard): where it is refused all are good enough

 private:
  std::vector<unsigned long> words_;
};

}  // namespace slurmtune
