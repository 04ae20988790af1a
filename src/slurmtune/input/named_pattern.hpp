// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

/// An ECMAScript regular expression with named groups, `(?<step>…)` or `(?P<step>…)`.
struct NamedPattern {
  struct Group {
    std::size_t index;  ///< in the match; 0 is the whole
    std::string name;
  };

  std::regex expression;
  std::vector<Group> groups;  ///< the named ones, at least one
};

/// Errors: invalid_input, without the pattern itself, for a broken expression, one without a named
/// group, and one of more than 1024 bytes: the compiler of std::regex recurses once a parenthesis.
[[nodiscard]] Expected<NamedPattern> compile_named_pattern(std::string_view pattern);

}  // namespace slurmtune
