// SPDX-License-Identifier: MIT
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slurmtune {

/// The last lines of a trial's output, as far as they may tell why it failed, at most 300: of each
/// rank those since the step before the one in which it wrote last. What a rank says at its end
/// stays, however many steps others go on, and whatever they write.
class RecentLines {
 public:
  void add(std::string_view text, std::optional<int> rank, int steps_seen);

  [[nodiscard]] std::vector<std::string> texts() const;
  [[nodiscard]] std::vector<std::optional<int>> ranks() const;

 private:
  static constexpr std::size_t lines_max = 300;
  static constexpr std::size_t line_bytes_max = 4096;

  struct Line {
    std::string text;
    std::optional<int> rank;
    int steps_seen;
  };
  std::deque<Line> lines_;
};

}  // namespace slurmtune
