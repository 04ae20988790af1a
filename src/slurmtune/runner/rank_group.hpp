// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/runner/lane/packet_link.hpp"
#include "slurmtune/runner/start/environment.hpp"
#include "slurmtune/runner/start/rendezvous.hpp"

namespace slurmtune {

/// The runner's own ranks, one a node, and the messages between them. The only place that knows
/// MPI. Without a launcher around it the process is a group by itself, and MPI is not started.
class RankGroup final : public PacketLink {
 public:
  /// Starts MPI if `environment` says that a launcher started us. TCP only, unless the user chose
  /// (OMPI_MCA_btl): the runner says little, and shared-memory files may clash between nodes that
  /// share a /tmp. Errors: unavailable, also if a launcher started several of us that MPI does not
  /// know of each other (srun without --mpi=pmix).
  [[nodiscard]] static Expected<RankGroup> join(const Environment& environment);
  RankGroup(RankGroup&& other) noexcept;
  RankGroup& operator=(RankGroup&&) = delete;
  /// Waits until all that was sent has left, and ends MPI.
  ~RankGroup() override;

  void send(int to, const Words& words) override;
  [[nodiscard]] std::optional<Packet> receive() override;
  [[nodiscard]] std::size_t backlog_bytes() const override;
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }

  /// The nodes by rank, on every rank.
  [[nodiscard]] const std::vector<NodeName>& nodes() const { return nodes_; }

 private:
  struct Outbox;  ///< messages that MPI is still sending

  RankGroup();

  bool by_mpi_ = false;
  int rank_ = 0;
  int size_ = 1;
  std::vector<NodeName> nodes_;
  std::deque<Packet> to_self_;
  std::unique_ptr<Outbox> outbox_;
};

}  // namespace slurmtune
