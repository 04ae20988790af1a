// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

/// The valid levels of parameters that constraints tie together, as a decision diagram: paths from
/// the root to the end are the valid combinations, one node a parameter. Equal subtrees are one
/// node, and each edge knows how many combinations come before it, so that counting, the k-th and
/// the rank of one need no more steps than there are parameters.
///
/// Source: multi-valued decision diagrams, Kam, Villa, Brayton, Sangiovanni-Vincentelli,
/// "Multi-valued decision diagrams: theory and applications", Multiple-Valued Logic 4, 1998.
class LevelDiagram {
 public:
  /// `level` of a parameter, -1 where it is absent, and the node of the next parameter.
  struct Edge {
    std::int32_t level = 0;
    std::uint32_t next = 0;

    bool operator==(const Edge&) const = default;
  };
  /// Edges of all nodes of one parameter, `first[i]` to `first[i + 1]` those of the i-th node, by
  /// level. Nodes of the last parameter lead to the end, which is 0.
  struct Layer {
    std::vector<std::uint64_t> first{0};
    std::vector<Edge> edges;
  };

  /// Merges equal subtrees and drops dead ends; the root is the only node of the first layer.
  /// Errors: invalid_input if there are 2^63 combinations or more; without a place, which the
  /// caller knows.
  [[nodiscard]] static Expected<LevelDiagram> reduce(std::vector<Layer> layers);

  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] std::size_t depth() const { return depth_; }
  [[nodiscard]] std::size_t stored_bytes() const {
    return first_.size() * sizeof(std::uint32_t) +
           edges_.size() * (sizeof(Edge) + sizeof(std::uint64_t));
  }
  [[nodiscard]] std::uint32_t root() const { return root_; }

  /// The k-th combination, k < size(); `levels` has depth() places.
  void at(std::uint64_t k, std::span<std::int32_t> levels) const;
  /// Nothing if it is not valid.
  [[nodiscard]] std::optional<std::uint64_t> rank(std::span<const std::int32_t> levels) const;

  /// The edges of a node, by level; those of the last parameter lead nowhere.
  [[nodiscard]] std::span<const Edge> edges(std::uint32_t node) const;

 private:
  std::uint64_t size_ = 0;
  std::size_t depth_ = 0;
  std::uint32_t root_ = 0;
  std::vector<std::uint32_t> first_{0};  // a node's edges, and the end
  std::vector<Edge> edges_;
  std::vector<std::uint64_t> before_;  // combinations of the same node before an edge
};

}  // namespace slurmtune
