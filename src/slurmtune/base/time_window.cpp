// SPDX-License-Identifier: MIT
#include "slurmtune/base/time_window.hpp"

#include <algorithm>
#include <cstddef>
#include <optional>

#include <fmt/core.h>

namespace slurmtune {

namespace {

using std::chrono::days;
using std::chrono::minutes;

constexpr minutes day_length = std::chrono::hours(24);
/// A span may be shorter than the one before it by a change of the clock, once; more are not
/// looked through.
constexpr int spans_looked_at = 8;

/// `07:30` as minutes after midnight.
std::optional<minutes> clock_time(std::string_view text) {
  if (text.size() != 5 || text[2] != ':') return std::nullopt;
  for (const std::size_t i : {0U, 1U, 3U, 4U}) {
    if (text[i] < '0' || text[i] > '9') return std::nullopt;
  }
  const int hour = (text[0] - '0') * 10 + (text[1] - '0');
  const int minute = (text[3] - '0') * 10 + (text[4] - '0');
  if (hour > 23 || minute > 59) return std::nullopt;
  return std::chrono::hours(hour) + minutes(minute);
}

enum class Among { earliest, latest };

/// The instants at which a clock shows `local`: it is shown twice where the clock is set back, and
/// never where it is set forward, which the instant of the change stands for.
Instant instant_of(const std::vector<UtcOffset>& offsets, Instant local, Among among) {
  std::optional<Instant> found;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const Instant at = local - offsets[i].ahead;
    const bool begun = i == 0 || at >= offsets[i].from;
    const bool over = i + 1 < offsets.size() && at >= offsets[i + 1].from;
    if (begun && !over) {
      if (!found || among == Among::latest) found = at;
    } else if (over && !found && local - offsets[i + 1].ahead < offsets[i + 1].from) {
      found = offsets[i + 1].from;
    }
  }
  return found.value_or(local - offsets.back().ahead);
}

}  // namespace

minutes DailyHours::length() const { return end > begin ? end - begin : end + day_length - begin; }

Expected<DailyHours> parse_daily_hours(std::string_view text) {
  const auto begin = clock_time(text.substr(0, 5));
  const auto end = text.size() == 11 ? clock_time(text.substr(6)) : std::nullopt;
  if (!begin || !end || text[5] != '-') {
    return invalid_input(
        fmt::format("\"{}\" is not a span of a day; write it like \"20:00-07:00\"", text));
  }
  if (*begin == *end) {
    return invalid_input(
        fmt::format("\"{}\" begins when it ends; for the whole day, leave it out", text));
  }
  return DailyHours{*begin, *end};
}

std::string format_daily_hours(const DailyHours& hours) {
  return fmt::format("{:02}:{:02}-{:02}:{:02}", hours.begin.count() / 60, hours.begin.count() % 60,
                     hours.end.count() / 60, hours.end.count() % 60);
}

TimeSpan TimeWindow::span_at(Instant now) const {
  SLURMTUNE_ASSERT(!offsets.empty());
  auto offset = offsets.front().ahead;
  for (const UtcOffset& change : offsets) {
    if (change.from <= now) offset = change.ahead;
  }
  const bool next_day = hours.end <= hours.begin;
  // What began the day before may still go on; each of the following days has a span that ends
  // later, unless a change of the clock has swallowed it.
  Instant day = std::chrono::floor<days>(now + offset) - days(1);
  for (int i = 0; i < spans_looked_at; ++i, day += days(1)) {
    const Instant ends = day + hours.end + (next_day ? day_length : minutes(0));
    const TimeSpan span{instant_of(offsets, day + hours.begin, Among::latest),
                        instant_of(offsets, ends, Among::earliest)};
    if (span.begin < span.end && now < span.end) return span;
  }
  return {now, now};  // a zone whose clock is changed by days; nothing fits
}

Instant TimeWindow::begin_for(Instant now, std::chrono::seconds needed) const {
  TimeSpan span = span_at(now);
  const Instant next = span.contains(now) ? span_at(span.end).begin : span.begin;
  for (int i = 0; i < spans_looked_at; ++i, span = span_at(span.end)) {
    const Instant begin = std::max(span.begin, now);
    if (span.end - begin >= needed) return begin;
  }
  return next;
}

}  // namespace slurmtune
