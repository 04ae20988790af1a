// SPDX-License-Identifier: MIT
#include "slurmtune/input/node.hpp"

#include <cmath>

#include <fmt/core.h>

namespace slurmtune {

namespace {

constexpr double exact_integer_max = 9007199254740992.0;  // 2^53

}  // namespace

const Node* Node::find(std::string_view key) const {
  for (const NodeMember& member : members) {
    if (member.key == key) return &member.value;
  }
  return nullptr;
}

bool Node::is_integral() const {
  if (kind == Kind::integer) return true;
  return kind == Kind::real && std::abs(real) <= exact_integer_max && std::trunc(real) == real;
}

std::int64_t Node::as_integer() const {
  SLURMTUNE_ASSERT(is_integral());
  return kind == Kind::integer ? integer : static_cast<std::int64_t>(real);
}

double Node::as_real() const {
  SLURMTUNE_ASSERT(is_number());
  return kind == Kind::integer ? static_cast<double>(integer) : real;
}

std::string_view kind_name(const Node& node) {
  switch (node.kind) {
    case Node::Kind::boolean: return "a boolean";
    case Node::Kind::integer: return "an integer";
    case Node::Kind::real: return "a real number";
    case Node::Kind::string: return "a string";
    case Node::Kind::array: return "an array";
    case Node::Kind::table: return "a table";
    case Node::Kind::other: break;
  }
  return node.text;
}

std::string written(const Node& node) {
  switch (node.kind) {
    case Node::Kind::boolean: return node.boolean ? "true" : "false";
    case Node::Kind::integer: return fmt::format("{}", node.integer);
    case Node::Kind::real: return fmt::format("{}", node.real);
    case Node::Kind::string: return fmt::format("\"{}\"", node.text);
    default: return std::string(kind_name(node));
  }
}

tl::unexpected<Error> fail_at(std::string_view path, int line, std::string_view what,
                              std::string_view remedy) {
  return invalid_input(fmt::format("{}:{}: {}; {}", path, line, what, remedy));
}

}  // namespace slurmtune
