// SPDX-License-Identifier: MIT
#include "slurmtune/input/named_pattern.hpp"

#include <fmt/format.h>

namespace slurmtune {

namespace {

constexpr std::size_t pattern_bytes_max = 1024;

}  // namespace

Expected<NamedPattern> compile_named_pattern(std::string_view pattern) {
  if (pattern.size() > pattern_bytes_max) {
    return invalid_input(fmt::format("it has more than {} bytes", pattern_bytes_max));
  }
  // std::regex knows no names: each `(?<name>` becomes `(`, and its number is kept.
  NamedPattern compiled;
  std::string plain;
  std::size_t groups = 0;
  bool in_class = false;
  for (std::size_t at = 0; at < pattern.size(); ++at) {
    const char character = pattern[at];
    plain += character;
    if (character == '\\' && at + 1 < pattern.size()) {
      plain += pattern[++at];
    } else if (in_class) {
      in_class = character != ']';
    } else if (character == '[') {
      in_class = true;
    } else if (character == '(') {
      const std::string_view rest = pattern.substr(at + 1);
      const std::size_t head = rest.starts_with("?P<") ? 3 : rest.starts_with("?<") ? 2 : 0;
      const bool looks_behind = head == 2 && rest.size() > 2 && (rest[2] == '=' || rest[2] == '!');
      if (head != 0 && !looks_behind) {
        const std::size_t end = rest.find('>');
        if (end == std::string_view::npos) {
          return invalid_input("a group's name lacks its '>'");
        }
        compiled.groups.push_back({++groups, std::string(rest.substr(head, end - head))});
        at += end + 1;
      } else if (!rest.starts_with('?')) {
        ++groups;
      }
    }
  }
  if (compiled.groups.empty()) {
    return invalid_input("it has no named group; write e.g. step (?<step>\\d+)");
  }
  try {
    compiled.expression = std::regex(plain, std::regex::ECMAScript | std::regex::optimize);
  } catch (const std::regex_error& error) {
    return invalid_input(error.what());
  }
  return compiled;
}

}  // namespace slurmtune
