// SPDX-License-Identifier: MIT
#include "slurmtune/tune/begin_time.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <optional>
#include <regex>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace slurmtune {

namespace {

/// sbatch(1): names of hours.
constexpr std::array<std::pair<std::string_view, int>, 5> hour_names{
    {{"midnight", 0}, {"elevenses", 11}, {"noon", 12}, {"fika", 15}, {"teatime", 16}}};

constexpr std::array<std::pair<char, std::int64_t>, 5> unit_seconds{
    {{'s', 1}, {'m', 60}, {'h', 3600}, {'d', 86'400}, {'w', 604'800}}};

std::time_t seconds_of(Instant at) {
  return std::chrono::floor<std::chrono::seconds>(at).time_since_epoch().count();
}

Instant instant_of(std::tm local) {
  local.tm_isdst = -1;  // mktime minds daylight saving
  return Instant{std::chrono::seconds(std::mktime(&local))};
}

std::tm local_time(Instant at) {
  const std::time_t seconds = seconds_of(at);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return local;
}

/// The next time of day that is so.
Instant next_at(Instant now, int hour, int minute, int second) {
  std::tm local = local_time(now);
  local.tm_hour = hour;
  local.tm_min = minute;
  local.tm_sec = second;
  const Instant today = instant_of(local);
  if (today > now) return today;
  local.tm_mday += 1;  // mktime makes the 31st the 1st
  return instant_of(local);
}

int number(const std::ssub_match& part) { return part.matched ? std::atoi(part.str().c_str()) : 0; }

std::optional<Instant> later(const std::string& words, Instant now) {
  static const std::regex form(R"(now(\+(\d{1,9})(s|m|h|d|w)?[a-z]*)?)");
  std::smatch parts;
  if (!std::regex_match(words, parts, form)) return std::nullopt;
  std::int64_t unit = 1;
  for (const auto& [letter, seconds] : unit_seconds) {
    if (parts[3].matched && parts[3].str().front() == letter) unit = seconds;
  }
  return now + std::chrono::seconds(number(parts[2]) * unit);
}

std::optional<Instant> on_a_day(const std::string& words) {
  static const std::regex form(R"((\d{4})-(\d\d)-(\d\d)(T(\d\d):(\d\d)(:(\d\d))?)?)");
  std::smatch parts;
  if (!std::regex_match(words, parts, form)) return std::nullopt;
  std::tm local{};
  local.tm_year = number(parts[1]) - 1900;
  local.tm_mon = number(parts[2]) - 1;
  local.tm_mday = number(parts[3]);
  local.tm_hour = number(parts[5]);
  local.tm_min = number(parts[6]);
  local.tm_sec = number(parts[8]);
  return instant_of(local);
}

std::optional<Instant> at_an_hour(const std::string& words, Instant now) {
  for (const auto& [name, hour] : hour_names) {
    if (words == name) return next_at(now, hour, 0, 0);
  }
  static const std::regex form(R"((\d{1,2}):(\d\d)(:(\d\d))?)");
  std::smatch parts;
  if (!std::regex_match(words, parts, form)) return std::nullopt;
  return next_at(now, number(parts[1]), number(parts[2]), number(parts[4]));
}

}  // namespace

Expected<Instant> begin_time(std::string_view words, Instant now) {
  const std::string text(words);
  if (text == "today") return now;
  if (text == "tomorrow") {
    std::tm local = local_time(now);
    local.tm_mday += 1;
    local.tm_hour = local.tm_min = local.tm_sec = 0;
    return instant_of(local);
  }
  if (const auto at = later(text, now)) return *at;
  if (const auto at = on_a_day(text)) return *at;
  if (const auto at = at_an_hour(text, now)) return *at;
  return invalid_input(
      fmt::format("[slurm] begin = \"{}\" is no time; write 20:00, now+2hours, tomorrow or "
                  "2026-12-01T20:00",
                  words));
}

}  // namespace slurmtune
