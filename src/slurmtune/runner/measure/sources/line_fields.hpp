// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>

#include "slurmtune/runner/measure/step_report.hpp"

namespace slurmtune {

inline constexpr double bytes_per_gib = 1024.0 * 1024.0 * 1024.0;
inline constexpr double flops_per_tflops = 1e12;

/// The number at the start of `text`, after spaces; also nan and inf.
template <class Number>
[[nodiscard]] std::optional<Number> leading_number(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  Number value{};
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{}) return std::nullopt;
  return value;
}

/// What follows `key` in the line, where `key` does not continue a longer word.
[[nodiscard]] std::optional<std::string_view> text_after(std::string_view line,
                                                         std::string_view key);

/// The number after `key`, as above.
template <class Number>
[[nodiscard]] std::optional<Number> number_after(std::string_view line, std::string_view key) {
  const auto rest = text_after(line, key);
  return rest ? leading_number<Number>(*rest) : std::nullopt;
}

/// The number at the start of `text` as people write it: `1,234`, `11.5K`, `85.8G` (powers of
/// 1,000).
[[nodiscard]] std::optional<double> human_number(std::string_view text);

/// The line without colours and other terminal control sequences (ECMA-48 CSI).
[[nodiscard]] std::string without_colours(std::string_view line);

}  // namespace slurmtune
