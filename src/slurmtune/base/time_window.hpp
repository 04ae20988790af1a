// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/base/instant.hpp"

namespace slurmtune {

/// The hours of each day in which something may run, by a clock on the wall: `20:00-07:00`.
struct DailyHours {
  std::chrono::minutes begin{};  ///< after midnight
  std::chrono::minutes end{};    ///< after midnight; not after `begin`: of the next day

  bool operator==(const DailyHours&) const = default;

  /// Of a day on which no clock is changed.
  [[nodiscard]] std::chrono::minutes length() const;
};

/// Errors: invalid_input for anything but `hh:mm-hh:mm`, and for two equal times.
[[nodiscard]] Expected<DailyHours> parse_daily_hours(std::string_view text);
/// `20:00-07:00`.
[[nodiscard]] std::string format_daily_hours(const DailyHours& hours);

/// How far a time zone is ahead of UTC from one instant on.
struct UtcOffset {
  Instant from;
  std::chrono::seconds ahead{};

  bool operator==(const UtcOffset&) const = default;
};

/// From `begin` to before `end`.
struct TimeSpan {
  Instant begin;
  Instant end;

  bool operator==(const TimeSpan&) const = default;
  [[nodiscard]] bool contains(Instant at) const { return begin <= at && at < end; }
};

/// Daily hours in one time zone, with what is needed to know them as UTC on any host, whatever its
/// own zone: the zone's offset and when it changes (daylight saving).
struct TimeWindow {
  DailyHours hours;
  /// By time, never empty; the first holds before its `from`, too, the last for ever.
  std::vector<UtcOffset> offsets;

  bool operator==(const TimeWindow&) const = default;

  /// The span that `now` is in, or the next one. Where a clock is set back over a limit, the
  /// shorter span counts; where it is set forward over one, the instant of the change.
  [[nodiscard]] TimeSpan span_at(Instant now) const;
  /// The earliest time from `now` on at which something that takes `needed` fits into a span; the
  /// next span's begin if it fits into none.
  [[nodiscard]] Instant begin_for(Instant now, std::chrono::seconds needed) const;
};

}  // namespace slurmtune
