// SPDX-License-Identifier: MIT
#include "slurmtune/generate/label.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/space/stage_template.hpp"

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

/// First letters of the words between underscores, as DeepSpeed's autotuner abbreviates:
/// `reduce_bucket_size` is rbs.
std::string acronym_of(std::string_view words) {
  std::string acronym;
  bool at_start = true;
  for (const char letter : words) {
    if (at_start && is_plain(letter)) acronym += letter;
    at_start = letter == '_' || letter == '-';
  }
  return acronym;
}

/// `rbs`; `oo_d` and `op_d` below offload_optimizer and offload_param, `ac_pa` below
/// activation_checkpointing.
std::string knob_acronym(std::string_view name) {
  std::string_view path =
      name.substr(name.find(':') == std::string_view::npos ? 0 : name.find(':') + 1);
  std::string acronym;
  for (;;) {
    const std::size_t dot = path.find('.');
    const std::string_view part = path.substr(0, dot);
    if (dot == std::string_view::npos) return acronym + acronym_of(part);
    if (part != "zero_optimization") acronym += acronym_of(part) + "_";
    path.remove_prefix(dot + 1);
  }
}

/// `T`, `F`, `5.0e+07` above 9000, as DeepSpeed's autotuner writes values.
std::string knob_value(const Value& value) {
  constexpr std::int64_t plain_max = 9000;
  if (const bool* flag = std::get_if<bool>(&value)) return *flag ? "T" : "F";
  if (const auto* integer = std::get_if<std::int64_t>(&value); integer && *integer > plain_max) {
    return fmt::format("{:.1e}", static_cast<double>(*integer));
  }
  return format_value(value);
}

std::string knobs_in_short(const Configuration& configuration) {
  std::string text;
  for (const auto& [name, value] : configuration.values) {
    if (!is_knob_name(name)) continue;
    std::string part = knob_value(value);
    for (char& letter : part) letter = is_plain(letter) ? letter : '-';
    append(text, knob_acronym(name) + part);
  }
  return text;
}

std::string hash_of(const Configuration& configuration) {
  return configuration_id(configuration).text.substr(0, 8);
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
    if (has_acronym(name) || is_knob_name(name)) continue;
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
  const std::string knobs = knobs_in_short(configuration);
  if (!knobs.empty()) append(label, knobs);
  if (is_exact && knobs.empty() && !label.empty() && label.size() <= length_max) return label;
  label.resize(std::min(label.size(), length_max));
  append(label, hash_of(configuration));
  return label;
}

}  // namespace slurmtune
