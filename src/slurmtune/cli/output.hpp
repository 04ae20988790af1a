// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/record/json.hpp"
#include "slurmtune/report/text.hpp"

namespace slurmtune {

/// Writes to standard output as it is. A failure is kept for finish_output().
void print(const std::string& text);
/// Canonical JSON and a newline. NaN cannot occur: all numbers come from records.
void print(const Json& json);

/// Flushes standard output. Errors: unavailable if anything of it could not be written; a reader
/// that went away is no error.
[[nodiscard]] Expected<void> finish_output();

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
