// SPDX-License-Identifier: MIT
#pragma once

#include <charconv>
#include <string>
#include <system_error>

#include <fmt/core.h>

namespace slurmtune {

/// For `check` of an option that takes a number: what is wrong with its word, "" = nothing. CLI11
/// itself reads 0x10 and 010 as C does, and words that are too large as the largest number.
inline std::string check_plain_number(const std::string& word) {
  double value = 0.0;
  const char* const end = word.data() + word.size();
  const auto [at, error] = std::from_chars(word.data(), end, value);
  const bool is_number =
      at == end && (error == std::errc() || error == std::errc::result_out_of_range);
  return is_number ? "" : fmt::format("'{}' is no number; write it with decimal digits", word);
}

}  // namespace slurmtune
