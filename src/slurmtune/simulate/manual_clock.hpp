// SPDX-License-Identifier: MIT
#pragma once

#include <algorithm>
#include <chrono>

#include "slurmtune/base/instant.hpp"

namespace slurmtune {

/// A clock that moves only when it is told to, and never backwards.
class ManualClock {
 public:
  /// 2026-11-30T20:00:00Z: an evening, for studies that run overnight.
  static constexpr Instant evening{std::chrono::sys_days(std::chrono::year(2026) / 11 / 30) +
                                   std::chrono::hours(20)};

  explicit ManualClock(Instant start = evening) : now_(start) {}

  [[nodiscard]] Instant now() const { return now_; }
  void advance(std::chrono::milliseconds span) { advance_to(now_ + span); }
  void advance_to(Instant at) { now_ = std::max(now_, at); }

 private:
  Instant now_;
};

}  // namespace slurmtune
