// SPDX-License-Identifier: MIT
#include "slurmtune/runner/judge/recent_lines.hpp"

namespace slurmtune {

void RecentLines::add(std::string_view text, std::optional<int> rank, int steps_seen) {
  std::erase_if(lines_, [&](const Line& line) {
    return line.rank == rank && line.steps_seen < steps_seen - 1;
  });
  lines_.push_back({std::string(text.substr(0, line_bytes_max)), rank, steps_seen});
  if (lines_.size() > lines_max) lines_.pop_front();
}

std::vector<std::string> RecentLines::texts() const {
  std::vector<std::string> texts;
  for (const Line& line : lines_) texts.push_back(line.text);
  return texts;
}

std::vector<std::optional<int>> RecentLines::ranks() const {
  std::vector<std::optional<int>> ranks;
  for (const Line& line : lines_) ranks.push_back(line.rank);
  return ranks;
}

}  // namespace slurmtune
