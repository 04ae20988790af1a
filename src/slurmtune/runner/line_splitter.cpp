// SPDX-License-Identifier: MIT
#include "slurmtune/runner/line_splitter.hpp"

#include <algorithm>

namespace slurmtune {

void LineSplitter::add(std::string_view bytes,
                       const std::function<void(std::string_view)>& on_line) {
  while (!bytes.empty()) {
    const std::size_t room = line_bytes_max - rest_.size();
    const std::size_t end = std::min(bytes.find_first_of("\r\n"), bytes.size());
    rest_ += bytes.substr(0, std::min(end, room));
    if (end > room) {
      bytes.remove_prefix(room);
      finish(on_line);
    } else if (end < bytes.size()) {
      bytes.remove_prefix(end + 1);
      finish(on_line);
    } else {
      return;
    }
  }
}

void LineSplitter::finish(const std::function<void(std::string_view)>& on_line) {
  const std::string line = std::move(rest_);
  rest_.clear();
  if (!line.empty()) on_line(line);
}

}  // namespace slurmtune
