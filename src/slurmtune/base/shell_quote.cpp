// SPDX-License-Identifier: MIT
#include "slurmtune/base/shell_quote.hpp"

#include <algorithm>
#include <cctype>

namespace slurmtune {

std::string shell_quote(std::string_view word) {
  // What begins with a dash is no assignment.
  const bool is_option = word.starts_with('-');
  const auto is_plain = [&](char character) {
    return std::isalnum(static_cast<unsigned char>(character)) != 0 ||
           (character == '=' && is_option) ||
           std::string_view("_-./:,+@%").find(character) != std::string_view::npos;
  };
  if (!word.empty() && std::all_of(word.begin(), word.end(), is_plain)) return std::string(word);
  std::string quoted = "'";
  for (const char character : word) {
    if (character == '\'') {
      quoted += "'\\''";
    } else {
      quoted += character;
    }
  }
  return quoted + "'";
}

std::string shell_quote(std::span<const std::string> argv) {
  std::string line;
  for (const std::string& word : argv) {
    if (!line.empty()) line += ' ';
    line += shell_quote(std::string_view(word));
  }
  return line;
}

}  // namespace slurmtune
