// SPDX-License-Identifier: MIT
#include "slurmtune/cli/output.hpp"

#include <cstdio>
#include <cstdlib>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace slurmtune {

void print(const std::string& text) {
  fmt::print("{}", text);
  std::fflush(stdout);
}

void print(const Json& json) { print(json.dump(2) + '\n'); }

Colour colour_of_output() {
  const char* no_colour = std::getenv("NO_COLOR");
  if (no_colour != nullptr && *no_colour != '\0') return Colour::never;
  return ::isatty(STDOUT_FILENO) == 1 ? Colour::ansi : Colour::never;
}

ProgressLine::ProgressLine() : terminal_(::isatty(STDOUT_FILENO) == 1) {}

ProgressLine::~ProgressLine() { end(); }

void ProgressLine::show(const std::string& line) {
  if (line == last_) return;
  last_ = line;
  // ESC [ K clears what a longer line left behind.
  print(terminal_ ? fmt::format("\r{}\x1b[K", line) : line + '\n');
  open_ = terminal_;
}

void ProgressLine::end() {
  if (open_) print(std::string("\n"));
  open_ = false;
}

}  // namespace slurmtune
