// SPDX-License-Identifier: MIT
#pragma once

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

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
};

}  // namespace slurmtune
