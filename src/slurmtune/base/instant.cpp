// SPDX-License-Identifier: MIT
#include "slurmtune/base/instant.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

#include <fmt/core.h>

namespace slurmtune {

namespace {

/// The number in text[first, first + length), or nothing if it is not all digits.
std::optional<int> digits(std::string_view text, std::size_t first, std::size_t length) {
  if (first + length > text.size()) return std::nullopt;
  int value = 0;
  for (const char c : text.substr(first, length)) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + (c - '0');
  }
  return value;
}

/// Minutes east of UTC from `Z`, `+hh:mm` or `-hh:mm`.
std::optional<int> offset_minutes(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  const auto hours = digits(text, 1, 2);
  const auto minutes = digits(text, 4, 2);
  if (!hours || !minutes || *hours > 23 || *minutes > 59) return std::nullopt;
  return (text[0] == '-' ? -1 : 1) * (*hours * 60 + *minutes);
}

}  // namespace

std::string format_instant(Instant at) {
  const auto day = std::chrono::floor<std::chrono::days>(at);
  const std::chrono::year_month_day date(day);
  const auto ms = (at - day).count();
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     ms / 3'600'000, ms / 60'000 % 60, ms / 1000 % 60, ms % 1000);
}

Expected<Instant> parse_instant(std::string_view text) {
  const auto refuse = [&] {
    return invalid_input(
        fmt::format("'{}' is not a time; write it like 2026-11-30T07:30:00Z", text));
  };
  const auto year = digits(text, 0, 4);
  const auto month = digits(text, 5, 2);
  const auto day = digits(text, 8, 2);
  const auto hour = digits(text, 11, 2);
  const auto minute = digits(text, 14, 2);
  const auto second = digits(text, 17, 2);
  if (!year || !month || !day || !hour || !minute || !second) return refuse();
  if (text[4] != '-' || text[7] != '-' || text[13] != ':' || text[16] != ':') return refuse();
  if (text[10] != 'T' && text[10] != 't' && text[10] != ' ') return refuse();
  std::size_t at = 19;
  int milliseconds = 0;
  if (at < text.size() && text[at] == '.') {
    int scale = 100;
    if (!digits(text, at + 1, 1)) return refuse();
    for (++at; at < text.size() && text[at] >= '0' && text[at] <= '9'; ++at, scale /= 10) {
      milliseconds += (text[at] - '0') * scale;
    }
  }
  const auto offset = offset_minutes(text.substr(at));
  const std::chrono::year_month_day date{std::chrono::year(*year),
                                         std::chrono::month(static_cast<unsigned>(*month)),
                                         std::chrono::day(static_cast<unsigned>(*day))};
  if (!offset || !date.ok() || *hour > 23 || *minute > 59 || *second > 60) return refuse();
  return Instant{std::chrono::sys_days(date)} + std::chrono::hours(*hour) +
         std::chrono::minutes(*minute - *offset) + std::chrono::seconds(*second) +
         std::chrono::milliseconds(milliseconds);
}

std::string format_duration(std::chrono::milliseconds span) {
  const std::int64_t ms = span.count();
  const std::int64_t seconds = ms / 1000;
  if (ms < 10'000) return fmt::format("{:.1f} s", static_cast<double>(ms) / 1000.0);
  if (seconds < 120) return fmt::format("{} s", seconds);
  if (seconds < 7200) return fmt::format("{} min", (seconds + 30) / 60);
  return fmt::format("{} h {:02} min", seconds / 3600, seconds / 60 % 60);
}

}  // namespace slurmtune
