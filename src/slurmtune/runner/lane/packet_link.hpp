// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <optional>

#include "slurmtune/runner/start/words.hpp"

namespace slurmtune {

/// Messages among the runner's ranks, in order between any two of them.
class PacketLink {
 public:
  struct Packet {
    int from = 0;
    Words words;
  };

  virtual ~PacketLink() = default;
  /// Never waits for the receiver. To oneself, too.
  virtual void send(int to, const Words& words) = 0;
  /// The next message that has come, if there is one.
  [[nodiscard]] virtual std::optional<Packet> receive() = 0;

  /// Bytes that were sent and have not left yet: a slow receiver, or more than the network takes.
  [[nodiscard]] virtual std::size_t backlog_bytes() const = 0;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
};

}  // namespace slurmtune
