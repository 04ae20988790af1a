// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "slurmtune/record/json.hpp"
#include "slurmtune/report/text.hpp"

namespace slurmtune {

/// Writes to standard output as it is.
void print(const std::string& text);
/// Canonical JSON and a newline. NaN cannot occur: all numbers come from records.
void print(const Json& json);

/// Colours for standard output: only on a terminal, and not with NO_COLOR (no-color.org).
[[nodiscard]] Colour colour_of_output();

/// A line that is overwritten on a terminal and printed when it changes elsewhere.
class ProgressLine {
 public:
  ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  ~ProgressLine();

  void show(const std::string& line);
  /// Ends the line, so that other output can follow.
  void end();

 private:
  bool terminal_;
  bool open_ = false;
  std::string last_;
};

}  // namespace slurmtune
