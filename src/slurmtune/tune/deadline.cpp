// SPDX-License-Identifier: MIT
#include "slurmtune/tune/deadline.hpp"

#include <charconv>
#include <ctime>

#include <fmt/core.h>

namespace slurmtune {

namespace {

/// Hours and minutes of `hh:mm`, or false.
bool read_clock(std::string_view text, int& hour, int& minute) {
  if (text.size() != 5 || text[2] != ':') return false;
  const auto read = [](std::string_view digits, int& value) {
    const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return code == std::errc{} && end == digits.data() + digits.size();
  };
  return read(text.substr(0, 2), hour) && read(text.substr(3), minute) && hour >= 0 && hour < 24 &&
         minute >= 0 && minute < 60;
}

}  // namespace

Expected<Instant> deadline_of(std::string_view finish_by, Instant now) {
  int hour = 0;
  int minute = 0;
  if (!read_clock(finish_by, hour, minute)) {
    SLURMTUNE_TRY(const Instant at, parse_instant(finish_by));
    if (at <= now) {
      return invalid_input(
          fmt::format("[budget] finish_by = \"{}\" is past; name a time to come", finish_by));
    }
    return at;
  }
  const std::time_t seconds =
      std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  std::tm local{};
  ::localtime_r(&seconds, &local);
  local.tm_hour = hour;
  local.tm_min = minute;
  local.tm_sec = 0;
  local.tm_isdst = -1;
  std::time_t at = std::mktime(&local);
  if (at <= seconds) {
    local.tm_mday += 1;  // mktime makes the 31st the 1st, and minds daylight saving
    local.tm_isdst = -1;
    at = std::mktime(&local);
  }
  return Instant{std::chrono::seconds(at)};
}

Expected<std::optional<Instant>> deadline_of(const StudySpec& spec, Instant now) {
  if (spec.budget.finish_by.empty()) return std::nullopt;
  const auto deadline = deadline_of(spec.budget.finish_by, now);
  if (deadline) return *deadline;
  return tl::unexpected(Error{
      deadline.error().kind,
      fmt::format("{}:{}: {}", spec.path, spec.budget.finish_by_line, deadline.error().message)});
}

}  // namespace slurmtune
