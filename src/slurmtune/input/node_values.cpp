// SPDX-License-Identifier: MIT
#include <algorithm>

#include "slurmtune/input/readers.hpp"

namespace slurmtune {

namespace {

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string text_or(const Node& table, std::string_view key, std::string_view fallback) {
  const Node* node = table.find(key);
  return node != nullptr && node->kind == Node::Kind::string ? node->text : std::string(fallback);
}

std::int64_t integer_or(const Node& table, std::string_view key, std::int64_t fallback) {
  const Node* node = table.find(key);
  return node != nullptr && node->is_integral() ? node->as_integer() : fallback;
}

double real_or(const Node& table, std::string_view key, double fallback) {
  return real_at(table, key).value_or(fallback);
}

bool boolean_or(const Node& table, std::string_view key, bool fallback) {
  const Node* node = table.find(key);
  return node != nullptr && node->kind == Node::Kind::boolean ? node->boolean : fallback;
}

std::optional<double> real_at(const Node& table, std::string_view key) {
  const Node* node = table.find(key);
  if (node == nullptr || !node->is_number()) return std::nullopt;
  return node->as_real();
}

int line_of_key(const SourceText& study, std::string_view section, std::string_view key) {
  const auto parsed = parse_toml(study);
  const Node* table = parsed ? parsed->find(section) : nullptr;
  if (table == nullptr) return 1;
  const Node* value = table->find(key);
  return value != nullptr ? value->line : table->line;
}

std::vector<std::string> strings_of(const Node* array) {
  std::vector<std::string> texts;
  if (array == nullptr) return texts;
  for (const Node& item : array->items) texts.push_back(item.text);
  return texts;
}

std::map<std::string, std::string> string_map_of(const Node* table) {
  std::map<std::string, std::string> texts;
  if (table == nullptr) return texts;
  for (const NodeMember& member : table->members) texts[member.key] = member.value.text;
  return texts;
}

std::vector<std::int64_t> integers_of(const Node& node) {
  std::vector<std::int64_t> integers;
  if (node.is_integral()) integers.push_back(node.as_integer());
  for (const Node& item : node.items) integers.push_back(item.as_integer());
  return integers;
}

bool is_identifier(std::string_view text) {
  return !text.empty() && is_letter(text.front()) &&
         std::ranges::all_of(text, [](char c) { return is_letter(c) || is_digit(c); });
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view white = " \t\r\n";
  const auto first = text.find_first_not_of(white);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(white) - first + 1);
}

}  // namespace slurmtune
