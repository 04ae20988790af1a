// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

/// Bytes for people, binary units: `512 B`, `48.0 MiB`, `1.5 GiB`.
[[nodiscard]] std::string format_bytes(double bytes);

/// Node-hours for people, from node-seconds: `0.25 node-hours`.
[[nodiscard]] std::string format_node_hours(std::int64_t node_seconds);

/// The word of `words` that is nearest to `word` by edit distance, or an empty view if none is
/// near enough to be meant (distance at most a third of its length, or 2).
template <class Words>
[[nodiscard]] std::string_view nearest_word(std::string_view word, const Words& words);

/// Levenshtein distance in bytes. Source: Wagner and Fischer, JACM 21 (1974).
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// --- Inline implementation ---

template <class Words>
std::string_view nearest_word(std::string_view word, const Words& words) {
  std::string_view best;
  std::size_t best_distance = word.size() / 3 > 2 ? word.size() / 3 + 1 : 3;
  for (const std::string_view candidate : words) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

}  // namespace slurmtune
