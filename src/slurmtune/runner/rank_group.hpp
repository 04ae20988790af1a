// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/runner/start/environment.hpp"

namespace slurmtune {

/// The runner's own ranks, one a node. The only place that knows MPI. Without a launcher around it
/// the process is a group by itself, and MPI is not started at all.
class RankGroup {
 public:
  /// Starts MPI if `environment` says that a launcher started us. TCP only, unless the user chose
  /// (OMPI_MCA_btl): the runner says little, and shared-memory files may clash between nodes that
  /// share a /tmp. Errors: unavailable, also if a launcher started several of us that MPI does not
  /// know of each other (srun without --mpi=pmix).
  [[nodiscard]] static Expected<RankGroup> join(const Environment& environment);
  RankGroup(RankGroup&& other) noexcept;
  RankGroup& operator=(RankGroup&&) = delete;
  /// Ends MPI.
  ~RankGroup();

  [[nodiscard]] bool leads() const { return rank_ == 0; }
  /// Names of the nodes by rank, on every rank: SLURMD_NODENAME, else the host's name.
  [[nodiscard]] const std::vector<std::string>& nodes() const { return nodes_; }

  /// On rank 0: lets the others leave. On the others: waits for that, asleep between looks.
  void leave_together();

 private:
  RankGroup() = default;
  void wait_for_leave() const;

  bool by_mpi_ = false;
  int rank_ = 0;
  int size_ = 1;
  std::vector<std::string> nodes_;
};

}  // namespace slurmtune
