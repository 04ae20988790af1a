// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/input/key_table.hpp"

namespace slurmtune {

namespace {

/// The key that is being checked, for messages.
struct Place {
  const KeyRow& row;
  std::string name;  ///< `trial.nodes`
  std::string_view path;

  [[nodiscard]] tl::unexpected<Error> fail(int line, std::string_view what) const {
    return fail_at(path, line, fmt::format("{} {}", name, what),
                   fmt::format("write {}", row.example));
  }
};

std::string bounds_text(const Bounds& bounds) {
  if (bounds.low == Bounds{}.low && bounds.high == Bounds{}.high) return "";
  if (bounds.above) return fmt::format(" above {} and at most {}", bounds.low, bounds.high);
  return fmt::format(" from {} to {}", bounds.low, bounds.high);
}

std::string words_text(std::span<const Word> words) {
  std::vector<std::string> quoted;
  for (const Word& word : words) {
    if (word.instead.empty()) quoted.push_back(fmt::format("\"{}\"", word.word));
  }
  return fmt::format("{}", fmt::join(quoted, ", "));
}

// Everything that the row admits: "an integer from 1 to 3, an array of integers or "all"".
std::string shapes_text(const KeyRow& row) {
  const std::pair<unsigned, std::string> all[] = {
      {shape_string | shape_token, "a string"},
      {shape_integer, "an integer" + bounds_text(row.bounds)},
      {shape_real, "a number" + bounds_text(row.bounds)},
      {shape_boolean, "true or false"},
      {shape_strings, "an array of strings"},
      {shape_integers, "an array of integers" + bounds_text(row.bounds)},
      {shape_scalars, "an array of values"},
      {shape_pair, "two numbers, [lowest, highest]"},
      {shape_string_map, "a table of strings"},
      {shape_table, "a table"},
      {shape_tables, "an array of tables"},
      {shape_word, (row.words.size() > 1 ? "one of " : "") + words_text(row.words)},
  };
  std::string text;
  for (const auto& [shape, words] : all) {
    if ((row.shapes & shape) == 0) continue;
    text += (text.empty() ? "" : " or ") + words;
  }
  return text;
}

Expected<void> wrong_shape(const Node& node, const Place& place) {
  return place.fail(node.line,
                    fmt::format("must be {}, but is {}", shapes_text(place.row), kind_name(node)));
}

Expected<void> check_word(const Node& node, const Place& place) {
  std::vector<std::string_view> known;
  for (const Word& word : place.row.words) {
    if (word.word == node.text && word.instead.empty()) return {};
    if (word.word == node.text) {
      return fail_at(
          place.path, node.line,
          fmt::format("{} = \"{}\" is not supported by this version yet", place.name, node.text),
          fmt::format("use {}", word.instead));
    }
    if (word.instead.empty()) known.push_back(word.word);
  }
  const std::string_view nearest = nearest_word(node.text, known);
  const std::string what = fmt::format("{} cannot be \"{}\"", place.name, node.text);
  if (!nearest.empty()) {
    return fail_at(place.path, node.line, what, fmt::format("did you mean \"{}\"?", nearest));
  }
  return fail_at(place.path, node.line, what, fmt::format("it must be {}", shapes_text(place.row)));
}

Expected<void> check_text(const Node& node, const Place& place) {
  const unsigned shapes = place.row.shapes;
  if ((shapes & shape_string) != 0) return {};
  if ((shapes & shape_token) != 0) {
    const bool clean =
        std::ranges::all_of(node.text, [](unsigned char c) { return c > 0x20 && c != 0x7f; });
    if (clean) return {};
    return place.fail(node.line, "must have no white space or control characters in it");
  }
  if ((shapes & shape_word) != 0) return check_word(node, place);
  return wrong_shape(node, place);
}

Expected<void> check_number(const Node& node, const Place& place, unsigned real_shape,
                            unsigned integer_shape) {
  const unsigned shapes = place.row.shapes;
  if ((shapes & (real_shape | integer_shape)) == 0) return wrong_shape(node, place);
  if ((shapes & real_shape) == 0 && !node.is_integral()) {
    return place.fail(node.line,
                      fmt::format("is {}, but must be {}", written(node), shapes_text(place.row)));
  }
  const double value = node.as_real();
  const Bounds& bounds = place.row.bounds;
  const bool low_enough = value <= bounds.high;
  const bool high_enough = bounds.above ? value > bounds.low : value >= bounds.low;
  if (low_enough && high_enough) return {};
  return place.fail(node.line,
                    fmt::format("is {}, but must be {}", written(node), shapes_text(place.row)));
}

Expected<void> check_array(const Node& node, const Place& place) {
  const unsigned shapes = place.row.shapes;
  const bool must_hold_something =
      (shapes & (shape_integers | shape_scalars)) != 0 && (shapes & shape_strings) == 0;
  if (must_hold_something && node.items.empty()) return place.fail(node.line, "is empty");
  if ((shapes & shape_pair) != 0 &&
      (node.items.size() != 2 || !node.items[0].is_number() || !node.items[1].is_number())) {
    return place.fail(node.line, "must be two numbers, [lowest, highest]");
  }
  constexpr unsigned arrays =
      shape_strings | shape_integers | shape_scalars | shape_pair | shape_tables;
  if ((shapes & arrays) == 0) return wrong_shape(node, place);
  for (const Node& item : node.items) {
    const bool scalar =
        item.is_number() || item.kind == Node::Kind::string || item.kind == Node::Kind::boolean;
    if ((shapes & shape_scalars) != 0 && scalar) continue;
    if ((shapes & shape_pair) != 0) continue;
    if ((shapes & shape_strings) != 0 && item.kind == Node::Kind::string) continue;
    if ((shapes & shape_integers) != 0 && item.is_number()) {
      SLURMTUNE_CHECK(check_number(item, place, 0, shape_integers));
      continue;
    }
    if ((shapes & shape_tables) != 0 && item.kind == Node::Kind::table) {
      SLURMTUNE_CHECK(check_keys(item, *place.row.table, place.path));
      continue;
    }
    return place.fail(item.line, fmt::format("must be {}, but one of its items is {}",
                                             shapes_text(place.row), kind_name(item)));
  }
  return {};
}

Expected<void> check_table(const Node& node, const Place& place) {
  const unsigned shapes = place.row.shapes;
  if ((shapes & shape_table) != 0) return check_keys(node, *place.row.table, place.path);
  if ((shapes & shape_string_map) == 0) return wrong_shape(node, place);
  for (const NodeMember& member : node.members) {
    if (member.value.kind != Node::Kind::string) {
      return place.fail(member.value.line, fmt::format("has {} under \"{}\", but must hold strings",
                                                       kind_name(member.value), member.key));
    }
  }
  return {};
}

Expected<void> check_value(const Node& node, const Place& place) {
  if ((place.row.shapes & shape_anything) != 0) return {};
  switch (node.kind) {
    case Node::Kind::string: return check_text(node, place);
    case Node::Kind::integer:
    case Node::Kind::real: return check_number(node, place, shape_real, shape_integer);
    case Node::Kind::boolean:
      if ((place.row.shapes & shape_boolean) != 0) return {};
      break;
    case Node::Kind::array: return check_array(node, place);
    case Node::Kind::table: return check_table(node, place);
    case Node::Kind::other:
      if ((place.row.shapes & shape_null) != 0 && node.text == "null") return {};
      break;
  }
  return wrong_shape(node, place);
}

Expected<void> unknown_key(const NodeMember& member, const KeyTable& table, std::string_view path) {
  std::vector<std::string_view> known;
  for (const KeyRow& row : table.rows) known.push_back(row.key);
  const std::string_view nearest = nearest_word(member.key, known);
  const std::string what = fmt::format("unknown key \"{}\" in {}", member.key, table.name);
  if (!nearest.empty()) {
    return fail_at(path, member.value.line, what, fmt::format("did you mean \"{}\"?", nearest));
  }
  return fail_at(path, member.value.line, what,
                 fmt::format("its keys are {}", fmt::join(known, ", ")));
}

}  // namespace

const KeyRow* KeyTable::find(std::string_view key) const {
  const auto row = std::ranges::find(rows, key, &KeyRow::key);
  return row == rows.end() ? nullptr : &*row;
}

Expected<void> check_keys(const Node& node, const KeyTable& table, std::string_view path) {
  for (const NodeMember& member : node.members) {
    const KeyRow* row = table.find(member.key);
    if (row == nullptr) return unknown_key(member, table, path);
    const Place place{*row, std::string(table.prefix) + member.key, path};
    SLURMTUNE_CHECK(check_value(member.value, place));
  }
  for (const KeyRow& row : table.rows) {
    if (row.required && node.find(row.key) == nullptr) {
      return fail_at(path, node.line, fmt::format("{} has no \"{}\"", table.name, row.key),
                     fmt::format("write {}", row.example));
    }
  }
  return {};
}

std::size_t word_index(const KeyRow& row, std::string_view word) {
  const auto found = std::ranges::find(row.words, word, &Word::word);
  SLURMTUNE_ASSERT(found != row.words.end());
  return static_cast<std::size_t>(found - row.words.begin());
}

}  // namespace slurmtune
