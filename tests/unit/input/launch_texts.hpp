// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/input/launch_line.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

/// The words of a line without quotes.
inline std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> words;
  while (!line.empty()) {
    const std::string_view word = line.substr(0, line.find(' '));
    if (!word.empty()) words.emplace_back(word);
    line.remove_prefix(line.size() == word.size() ? word.size() : word.size() + 1);
  }
  return words;
}

/// What is understood of a line without quotes, which must be understood.
inline LaunchLine parsed(std::string_view line) {
  auto result = parse_launch_line(words_of(line));
  INFO(line);
  if (!result) FAIL(result.error().message);
  return *result;
}

}  // namespace slurmtune
