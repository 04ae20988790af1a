// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/source_text.hpp"

namespace slurmtune {

struct NodeMember;

/// A value of a TOML or JSON text and the line it stands on, so that both formats are checked by
/// the same table of keys and every message has a line.
struct Node {
  enum class Kind { boolean, integer, real, string, array, table, other };  ///< other: date, null

  Kind kind = Kind::table;
  int line = 1;  ///< of the key, if it has one
  bool boolean = false;
  std::int64_t integer = 0;
  double real = 0.0;  ///< always finite
  std::string text;   ///< never holds a NUL byte; for `other`, what it is
  std::vector<Node> items;
  std::vector<NodeMember> members;  ///< in the order of their lines

  /// The member of that key, or null.
  [[nodiscard]] const Node* find(std::string_view key) const;
  [[nodiscard]] bool is_number() const { return kind == Kind::integer || kind == Kind::real; }
  /// An integer, or a real that is one (`1e9`), exact up to 2^53.
  [[nodiscard]] bool is_integral() const;
  /// The value of an integral node.
  [[nodiscard]] std::int64_t as_integer() const;
  /// The value of a number.
  [[nodiscard]] double as_real() const;
};

struct NodeMember {
  std::string key;
  Node value;
};

/// For messages: `a string`, `an integer`.
[[nodiscard]] std::string_view kind_name(const Node& node);

/// A string, a number or a word as it would be written.
[[nodiscard]] std::string written(const Node& node);

/// The error `path:line: what; remedy`.
[[nodiscard]] tl::unexpected<Error> fail_at(std::string_view path, int line, std::string_view what,
                                            std::string_view remedy);

/// Errors: invalid_input, `path:line: `: no TOML, a number that is not finite, a NUL in a text.
[[nodiscard]] Expected<Node> parse_toml(const SourceText& source);

/// Errors: invalid_input, `path:line: `: no JSON, a key twice in an object, nested more than 64
/// deep, an integer that does not fit in 64 bits, a NUL in a text.
[[nodiscard]] Expected<Node> parse_json_source(const SourceText& source);

/// The JSON of a node; `other` becomes null.
[[nodiscard]] nlohmann::json node_to_json(const Node& node);

}  // namespace slurmtune
