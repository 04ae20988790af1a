// SPDX-License-Identifier: MIT
#include "slurmtune/input/launch_slurm.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/input/key_table.hpp"

namespace slurmtune {

namespace {

constexpr unsigned text_shapes = shape_string | shape_token | shape_word;
constexpr unsigned plain_shapes = shape_integer | shape_real | shape_boolean;

Expected<const KeyRow*> row_named(const std::string& key, const std::string& assignment) {
  if (const KeyRow* row = slurm_keys().find(key)) return row;
  std::vector<std::string_view> known;
  for (const KeyRow& row : slurm_keys().rows) known.push_back(row.key);
  const std::string_view nearest = nearest_word(key, known);
  return invalid_input(fmt::format("--slurm {}: \"{}\" is no key of [slurm]{}", assignment, key,
                                   nearest.empty()
                                       ? "; write --slurm account=m1234"
                                       : fmt::format("; did you mean \"{}\"?", nearest)));
}

bool is_plain(const std::string& value) {
  return !value.empty() && std::ranges::all_of(value, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '.' || c == '-' || c == '+' || c == '_';
  });
}

bool is_text(const std::string& value) {
  return std::ranges::all_of(
      value, [](unsigned char c) { return c >= 0x20 && c != 0x7f && c != '"' && c != '\\'; });
}

}  // namespace

Expected<std::string> slurm_lines(const std::vector<std::string>& assignments) {
  std::string text;
  std::set<std::string> given;
  for (const std::string& assignment : assignments) {
    const std::size_t equals = std::min(assignment.find('='), assignment.size());
    const std::string key = assignment.substr(0, equals);
    SLURMTUNE_TRY(const KeyRow* row, row_named(key, assignment));
    if (!given.insert(key).second) {
      return invalid_input(
          fmt::format("--slurm {}: {} is given twice; give it once", assignment, key));
    }
    if (key == "site" || key == "submit") {
      return invalid_input(fmt::format("--slurm {}: write --{} instead", assignment, key));
    }
    if (equals == assignment.size()) {
      return invalid_input(fmt::format(
          "--slurm {}: it has no value; write KEY=VALUE, e.g. account=m1234", assignment));
    }
    const std::string value = assignment.substr(equals + 1);
    if ((row->shapes & text_shapes) != 0 && is_text(value)) {
      text += fmt::format("{} = \"{}\"\n", key, value);
    } else if ((row->shapes & plain_shapes) != 0 && is_plain(value)) {
      text += fmt::format("{} = {}\n", key, value);
    } else {
      return invalid_input(fmt::format(
          "--slurm {}: that value cannot be given so; write the study with --write, and {} into it",
          assignment, row->example));
    }
  }
  return text;
}

}  // namespace slurmtune
