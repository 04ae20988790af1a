// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

namespace slurmtune {

/// Stands in a rendered command for the rank's place on its node, which only what starts the rank
/// knows: the launcher `torch`, `slurmtune-runner rank-env`, or the shell of cmd_optimal.sh.
inline constexpr std::string_view local_rank_mark = "{local_rank}";

/// `word` with the number where the mark is.
[[nodiscard]] inline std::string with_local_rank(std::string word, std::string_view local_rank) {
  for (std::size_t at = word.find(local_rank_mark); at != std::string::npos;
       at = word.find(local_rank_mark, at + local_rank.size())) {
    word.replace(at, local_rank_mark.size(), local_rank);
  }
  return word;
}

}  // namespace slurmtune
