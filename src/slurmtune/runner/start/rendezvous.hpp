// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/runner/start/environment.hpp"

namespace slurmtune {

/// A node as its runner knows it.
struct NodeName {
  std::string node;  ///< SLURMD_NODENAME, else the host's name
  std::string host;  ///< gethostname(2)
  /// The kernel's boot and the network namespace: what shares both shares the loopback.
  std::string machine;

  bool operator==(const NodeName&) const = default;
};

/// This node.
[[nodiscard]] NodeName own_node_name(const Environment& environment);

/// The address under which the ranks of a trial reach its first node: 127.0.0.1 if all nodes are
/// one machine (the loopback always works, a host's own name may not resolve); else the first of
/// the node's and the host's name that resolves to more than a loopback address; else the address
/// of an interface that is up. To be called on the first node.
[[nodiscard]] std::string master_address(const std::vector<NodeName>& nodes);

/// The ports out of which the system chooses for clients, first and last.
/// Source: ip(7), ip_local_port_range.
[[nodiscard]] std::pair<int, int> ephemeral_ports();

/// A TCP port that nobody on this node listens on now, outside the ephemeral range, so that no
/// client's connection takes it before the trial does. `draw` decides where the search begins: two
/// runners on a node begin at different places. Errors: unavailable.
[[nodiscard]] Expected<int> free_port(std::uint64_t draw);

}  // namespace slurmtune
