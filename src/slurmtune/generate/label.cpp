// SPDX-License-Identifier: MIT
#include "slurmtune/generate/label.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace slurmtune {

namespace {

constexpr std::size_t length_max = 80;

/// The parameters that have an acronym, in the order of the label.
constexpr std::array<std::pair<std::string_view, std::string_view>, 3> acronyms{{
    {zero_stage_parameter, "z"},
    {accumulation_parameter, "gas"},
    {micro_batch_parameter, "tmbspg"},
}};

bool has_acronym(std::string_view name) {
  return std::any_of(acronyms.begin(), acronyms.end(),
                     [&](const auto& acronym) { return acronym.first == name; });
}

bool is_plain(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '.' || letter == '+';
}

void append(std::string& label, std::string_view part) {
  if (!label.empty()) label += '_';
  label += part;
}

}  // namespace

std::string label_of(const Configuration& configuration) {
  std::string label;
  for (const auto& [name, acronym] : acronyms) {
    if (const auto value = configuration.integer(name)) {
      append(label, std::string(acronym) + std::to_string(*value));
    }
  }
  bool is_exact = true;
  for (const auto& [name, value] : configuration.values) {
    if (has_acronym(name)) continue;
    std::string text = format_value(value);
    // A sign is as plain as a digit, at the head of a value or of an exponent.
    const bool is_text = std::holds_alternative<std::string>(value);
    for (char& letter : text) {
      if (is_plain(letter) || (letter == '-' && !is_text)) continue;
      letter = '-';
      is_exact = false;
    }
    append(label, name + "-" + text);
  }
  if (is_exact && !label.empty() && label.size() <= length_max) return label;
  label.resize(std::min(label.size(), length_max));
  append(label, std::string_view(configuration_id(configuration).text).substr(0, 8));
  return label;
}

}  // namespace slurmtune
