// SPDX-License-Identifier: MIT
#include "slurmtune/cli/output.hpp"

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <fmt/core.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace slurmtune {

namespace {

int first_failure = 0;  // errno of standard output

}  // namespace

void print(const std::string& text) {
  const std::size_t written = std::fwrite(text.data(), 1, text.size(), stdout);
  const bool flushed = std::fflush(stdout) == 0;
  if ((written != text.size() || !flushed) && first_failure == 0) first_failure = errno;
}

Expected<void> finish_output() {
  // CLI11 writes its --help itself, by std::cout.
  if (std::fflush(stdout) != 0 && first_failure == 0) first_failure = errno;
  if (first_failure == 0 && std::ferror(stdout) != 0) first_failure = EIO;
  // A reader that went away (`| head`) has what it wanted.
  if (first_failure == 0 || first_failure == EPIPE) return {};
  return unavailable(
      fmt::format("cannot write to standard output: {}", std::strerror(first_failure)));
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
