// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <exception>

#include <fmt/core.h>
#include <toml++/toml.h>

#include "slurmtune/input/node.hpp"

namespace slurmtune {

namespace {

int line_of(const toml::source_region& region) {
  return std::max(1, static_cast<int>(region.begin.line));
}

// toml++ builds the tree; this copies it, with its lines, into ours. The depth is bounded by
// toml++'s own limit (TOML_MAX_NESTED_VALUES).
Expected<Node> convert(const toml::node& from, int line, std::string_view path);

Expected<Node> convert_table(const toml::table& table, int line, std::string_view path) {
  Node node;
  node.line = line;
  for (const auto& [key, value] : table) {
    SLURMTUNE_TRY(Node child, convert(value, line_of(key.source()), path));
    node.members.push_back(NodeMember{std::string(key.str()), std::move(child)});
  }
  std::ranges::stable_sort(node.members, {}, [](const NodeMember& m) { return m.value.line; });
  return node;
}

Expected<Node> convert_array(const toml::array& array, int line, std::string_view path) {
  Node node;
  node.kind = Node::Kind::array;
  node.line = line;
  for (const toml::node& item : array) {
    SLURMTUNE_TRY(Node child, convert(item, line_of(item.source()), path));
    node.items.push_back(std::move(child));
  }
  return node;
}

Expected<Node> convert(const toml::node& from, int line, std::string_view path) {
  if (const auto* table = from.as_table()) return convert_table(*table, line, path);
  if (const auto* array = from.as_array()) return convert_array(*array, line, path);
  Node node;
  node.line = line;
  if (const auto* text = from.as_string()) {
    node.kind = Node::Kind::string;
    node.text = text->get();
    if (node.text.find('\0') != std::string::npos) {
      return fail_at(path, line, "a text holds a NUL character", "remove it");
    }
  } else if (const auto* integer = from.as_integer()) {
    node.kind = Node::Kind::integer;
    node.integer = integer->get();
  } else if (const auto* real = from.as_floating_point()) {
    node.kind = Node::Kind::real;
    node.real = real->get();
    if (!std::isfinite(node.real)) {
      return fail_at(path, line, fmt::format("{} is not a finite number", node.real),
                     "write a finite one");
    }
  } else if (const auto* boolean = from.as_boolean()) {
    node.kind = Node::Kind::boolean;
    node.boolean = boolean->get();
  } else {
    node.kind = Node::Kind::other;
    node.text = from.is_time() ? "a time" : "a date";
  }
  return node;
}

}  // namespace

Expected<Node> parse_toml(const SourceText& source) {
  try {
    const toml::table table = toml::parse(source.text, std::string_view(source.path));
    return convert_table(table, 1, source.path);
  } catch (const toml::parse_error& error) {
    return fail_at(source.path, line_of(error.source()),
                   fmt::format("this is not TOML: {}", error.description()),
                   "correct the syntax (toml.io)");
  } catch (const std::exception& error) {
    return fail_at(source.path, 1, fmt::format("this is not TOML: {}", error.what()),
                   "correct the syntax (toml.io)");
  }
}

}  // namespace slurmtune
