// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/sources/line_fields.hpp"

#include <algorithm>

namespace slurmtune {

std::optional<std::string_view> text_after(std::string_view line, std::string_view key) {
  for (std::size_t at = line.find(key); at != std::string_view::npos; at = line.find(key, at + 1)) {
    const bool whole = at == 0 || (std::isalnum(static_cast<unsigned char>(line[at - 1])) == 0 &&
                                   line[at - 1] != '_');
    if (whole) return line.substr(at + key.size());
  }
  return std::nullopt;
}

std::optional<double> human_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  const std::size_t end = std::min(text.find_first_not_of("0123456789.,eE+-"), text.size());
  std::string digits(text.substr(0, end));
  digits.erase(std::remove(digits.begin(), digits.end(), ','), digits.end());
  const auto value = leading_number<double>(digits);
  if (!value || end == text.size()) return value;
  constexpr std::string_view units = "KMGT";
  double factor = 1.0;
  for (const char unit : units) {
    factor *= 1000.0;
    if (text[end] == unit || (unit == 'G' && text[end] == 'B')) return *value * factor;
  }
  return value;
}

std::string without_colours(std::string_view line) {
  std::string plain;
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == '\x1b' && at + 1 < line.size() && line[at + 1] == '[') {
      at += 2;
      while (at < line.size() && (line[at] < '@' || line[at] > '~')) ++at;
      continue;
    }
    plain += line[at];
  }
  return plain;
}

}  // namespace slurmtune
