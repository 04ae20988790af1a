// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace slurmtune {

/// Cuts a stream of bytes into lines: at \n, at \r (progress bars), and at 16 KiB, so that a trial
/// that never ends its line cannot fill our memory. Empty lines are left out.
class LineSplitter {
 public:
  void add(std::string_view bytes, const std::function<void(std::string_view)>& on_line);
  /// What is left without an end of line.
  void finish(const std::function<void(std::string_view)>& on_line);

 private:
  static constexpr std::size_t line_bytes_max = std::size_t{16} * 1024;

  std::string rest_;
};

}  // namespace slurmtune
