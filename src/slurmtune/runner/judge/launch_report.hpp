// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string>

namespace slurmtune {

/// The first rank that failed, as its launcher says.
struct RankFailure {
  std::optional<int> rank;
  std::string node;  ///< empty if it is not told
  std::optional<int> exit_code;
  std::optional<int> signal;

  bool operator==(const RankFailure&) const = default;
};

/// Reads what mpirun, srun, torchrun and DeepSpeed's launcher say about a rank that ended badly:
///
///     mpirun noticed that process rank 1 with PID 0 on node n2 exited on signal 9 (Killed).
///     Process name: [[25263,1],1]  /  Exit code:    3
///     MPI_ABORT was invoked on rank 1 in communicator MPI_COMM_WORLD  /  with errorcode 1.
///     srun: error: n2: task 1: Exited with exit code 3
///     srun: error: n2: tasks 1-2: Segmentation fault (core dumped)
///     Root Cause (first observed failure):  /  host : n2  /  rank : 1 (…)  /  exitcode : -9 (…)
///     […] [launch.py:325:sigkill_handler] ['python', …] exits with return code = -9
///
/// Only the first message of each kind counts: what follows is what the launcher killed itself.
[[nodiscard]] RankFailure read_launch_report(std::span<const std::string> lines);

}  // namespace slurmtune
