// SPDX-License-Identifier: MIT
#include "slurmtune/tune/deadline.hpp"

#include <charconv>
#include <ctime>

#include <fmt/core.h>

#include "slurmtune/study/task_time.hpp"

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

/// How far this host's clock on the wall is ahead of UTC then.
std::chrono::seconds ahead_of_utc(std::time_t at) {
  std::tm local{};
  ::localtime_r(&at, &local);
  return std::chrono::seconds(local.tm_gmtoff);
}

/// The second in (low, high] from which on another offset than at `low` holds.
std::time_t change_between(std::time_t low, std::time_t high) {
  const auto before = ahead_of_utc(low);
  while (high - low > 1) {
    const std::time_t middle = low + (high - low) / 2;
    (ahead_of_utc(middle) == before ? low : high) = middle;
  }
  return high;
}

/// The next time that the clock of this host shows `hour:minute`.
Instant next_at(int hour, int minute, Instant now) {
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

}  // namespace

TimeWindow window_from(const DailyHours& hours, Instant now) {
  constexpr int days_known = 731;
  constexpr std::time_t day_s = 86'400;
  std::time_t at = std::chrono::floor<std::chrono::seconds>(now).time_since_epoch().count();
  TimeWindow window{hours, {{Instant(std::chrono::seconds(at)), ahead_of_utc(at)}}};
  for (int day = 0; day < days_known; ++day, at += day_s) {
    if (ahead_of_utc(at + day_s) == ahead_of_utc(at)) continue;
    const std::time_t change = change_between(at, at + day_s);
    window.offsets.push_back({Instant(std::chrono::seconds(change)), ahead_of_utc(change)});
  }
  return window;
}

Expected<Instant> deadline_of(std::string_view finish_by, Instant now) {
  int hour = 0;
  int minute = 0;
  Instant at;
  if (read_clock(finish_by, hour, minute)) {
    at = next_at(hour, minute, now);
  } else {
    SLURMTUNE_TRY(at, parse_instant(finish_by));
  }
  if (at <= now) return invalid_input(fmt::format("{} is past; name a time to come", finish_by));
  if (at - now > guard_margin) return at;
  return invalid_input(fmt::format(
      "{} is too near: {} min before it the study is ended with what there is, which is "
      "nothing yet; name a later time",
      finish_by, guard_margin.count()));
}

Expected<std::optional<Instant>> deadline_of(const StudySpec& spec, Instant now) {
  const BudgetSpec& budget = spec.budget;
  if (budget.finish_by.empty()) return std::nullopt;
  const auto refuse = [&](const std::string& why) {
    return invalid_input(
        fmt::format("{}:{}: budget.finish_by: {}", spec.path, budget.finish_by_line, why));
  };
  const auto deadline = deadline_of(budget.finish_by, now);
  if (!deadline) return refuse(deadline.error().message);
  if (!budget.window) return *deadline;
  const Instant opens = window_from(*budget.window, now).span_at(now).begin;
  if (opens < *deadline - guard_margin) return *deadline;
  return refuse(fmt::format(
      "{} comes before budget.window ({}) opens the next time, at {}: nothing could run; name a "
      "later time",
      budget.finish_by, format_daily_hours(*budget.window), format_instant(opens)));
}

}  // namespace slurmtune
