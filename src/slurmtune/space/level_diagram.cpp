// SPDX-License-Identifier: MIT
#include "slurmtune/space/level_diagram.hpp"

#include <algorithm>

namespace slurmtune {

namespace {

constexpr std::uint32_t none = 0xffff'ffffU;
constexpr std::uint64_t size_max = std::uint64_t{1} << 63U;

std::uint64_t mix(std::uint64_t hash, std::uint64_t value) {
  hash = (hash ^ value) * 0x9e37'79b9'7f4a'7c15U;
  return hash ^ (hash >> 29U);
}

/// Nodes of one layer by their edges.
class EdgeTable {
 public:
  explicit EdgeTable(std::size_t nodes) {
    std::size_t slots = 16;
    while (slots < 2 * nodes) slots *= 2;
    slots_.assign(slots, none);
  }

  /// The slot of an equal node, or a free one.
  template <class IsEqual>
  std::uint32_t& find(std::span<const LevelDiagram::Edge> edges, IsEqual is_equal) {
    std::uint64_t hash = edges.size();
    for (const auto& edge : edges) {
      hash = mix(hash, (static_cast<std::uint64_t>(static_cast<std::uint32_t>(edge.level)) << 32U) |
                           edge.next);
    }
    const std::size_t mask = slots_.size() - 1;
    std::size_t at = hash & mask;
    while (slots_[at] != none && !is_equal(slots_[at])) at = (at + 1) & mask;
    return slots_[at];
  }

 private:
  std::vector<std::uint32_t> slots_;
};

}  // namespace

std::span<const LevelDiagram::Edge> LevelDiagram::edges(std::uint32_t node) const {
  return std::span(edges_).subspan(first_[node], first_[node + 1] - first_[node]);
}

Expected<LevelDiagram> LevelDiagram::reduce(std::vector<Layer> layers) {
  LevelDiagram diagram;
  diagram.depth_ = layers.size();
  std::vector<std::uint32_t> names{0};  // of the layer below, after merging
  std::vector<std::uint64_t> sizes{1};  // of those, by name less `below`
  std::uint32_t below = 0;              // the first name of that layer
  std::vector<Edge> edges;
  for (std::size_t depth = layers.size(); depth-- > 0;) {
    Layer layer = std::move(layers[depth]);
    const std::size_t count = layer.first.size() - 1;
    const auto start = static_cast<std::uint32_t>(diagram.first_.size() - 1);
    EdgeTable table(count);
    std::vector<std::uint32_t> own_names(count, none);
    std::vector<std::uint64_t> own_sizes;
    for (std::size_t node = 0; node < count; ++node) {
      edges.clear();
      for (std::uint64_t i = layer.first[node]; i < layer.first[node + 1]; ++i) {
        const std::uint32_t next = names[layer.edges[i].next];
        if (next != none) edges.push_back({layer.edges[i].level, next});
      }
      if (edges.empty()) continue;
      std::uint32_t& slot = table.find(edges, [&](std::uint32_t other) {
        return std::ranges::equal(diagram.edges(other), edges);
      });
      if (slot == none) {
        slot = static_cast<std::uint32_t>(diagram.first_.size() - 1);
        std::uint64_t size = 0;
        for (const Edge& edge : edges) {
          diagram.before_.push_back(size);
          size += sizes[edge.next - below];  // both below 2^63
          if (size >= size_max) {
            return invalid_input("2^63 valid configurations or more; write fewer values");
          }
        }
        diagram.edges_.insert(diagram.edges_.end(), edges.begin(), edges.end());
        diagram.first_.push_back(static_cast<std::uint32_t>(diagram.edges_.size()));
        own_sizes.push_back(size);
      }
      own_names[node] = slot;
    }
    names = std::move(own_names);
    sizes = std::move(own_sizes);
    below = start;
  }
  diagram.root_ = names.front();
  diagram.size_ = diagram.root_ == none ? 0 : sizes[diagram.root_ - below];
  return diagram;
}

void LevelDiagram::at(std::uint64_t k, std::span<std::int32_t> levels) const {
  std::uint32_t node = root_;
  for (std::size_t i = 0; i < depth_; ++i) {
    const auto begin = before_.begin() + first_[node];
    const auto end = before_.begin() + first_[node + 1];
    const auto place = std::upper_bound(begin, end, k) - 1;
    k -= *place;
    const Edge& edge = edges_[static_cast<std::size_t>(place - before_.begin())];
    levels[i] = edge.level;
    node = edge.next;
  }
}

std::optional<std::uint64_t> LevelDiagram::rank(std::span<const std::int32_t> levels) const {
  if (size_ == 0 || levels.size() != depth_) return std::nullopt;
  std::uint32_t node = root_;
  std::uint64_t k = 0;
  for (const std::int32_t level : levels) {
    const auto own = edges(node);
    const auto place = std::ranges::lower_bound(own, level, {}, &Edge::level);
    if (place == own.end() || place->level != level) return std::nullopt;
    k += before_[first_[node] + static_cast<std::size_t>(place - own.begin())];
    node = place->next;
  }
  return k;
}

}  // namespace slurmtune
