// SPDX-License-Identifier: MIT
#include "slurmtune/study/node_list.hpp"

#include <charconv>
#include <cstdint>
#include <optional>
#include <utility>

#include <fmt/core.h>

namespace slurmtune {

namespace {

/// More than any cluster has: a range beyond it is a slip of the pen.
constexpr std::int64_t range_max = 100'000;

/// The parts between commas that stand outside of brackets.
std::vector<std::string_view> parts_of(std::string_view list) {
  std::vector<std::string_view> parts;
  std::size_t first = 0;
  int depth = 0;
  for (std::size_t i = 0; i <= list.size(); ++i) {
    const char c = i < list.size() ? list[i] : ',';
    if (c == '[') ++depth;
    if (c == ']') --depth;
    if (c != ',' || (depth > 0 && i < list.size())) continue;
    if (i > first) parts.push_back(list.substr(first, i - first));
    first = i + 1;
  }
  return parts;
}

std::optional<std::int64_t> number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// `1-3` or `07`, with its leading zeros; nothing if it is neither.
std::optional<std::vector<std::string>> numbers_of(std::string_view range) {
  const std::size_t dash = range.find('-');
  const std::string_view low = range.substr(0, dash);
  const auto first = number_of(low);
  const auto last = dash == std::string_view::npos ? first : number_of(range.substr(dash + 1));
  if (!first || !last || *last < *first || *last - *first > range_max) return std::nullopt;
  std::vector<std::string> numbers;
  for (std::int64_t i = *first; i <= *last; ++i) {
    numbers.push_back(fmt::format("{:0{}}", i, low.size()));
  }
  return numbers;
}

/// One part of a list; brackets from the left to the right.
std::vector<std::string> expand_part(std::string_view part) {
  const std::size_t open = part.find('[');
  const std::size_t close = part.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) {
    return {std::string(part)};
  }
  std::vector<std::string> names;
  const std::vector<std::string> tails = expand_part(part.substr(close + 1));
  for (const std::string_view range : parts_of(part.substr(open + 1, close - open - 1))) {
    const auto numbers = numbers_of(range);
    if (!numbers) return {std::string(part)};
    for (const std::string& number : *numbers) {
      for (const std::string& tail : tails) {
        names.push_back(std::string(part.substr(0, open)) + number + tail);
      }
    }
  }
  return names;
}

}  // namespace

std::vector<std::string> expand_nodes(std::string_view list) {
  std::vector<std::string> nodes;
  for (const std::string_view part : parts_of(list)) {
    for (std::string& name : expand_part(part)) nodes.push_back(std::move(name));
  }
  return nodes;
}

}  // namespace slurmtune
