// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

/// A point in time, UTC, in milliseconds. Passed in, never read by the pure rooms.
using Instant = std::chrono::sys_time<std::chrono::milliseconds>;

/// RFC 3339 with milliseconds, e.g. `2026-11-30T21:04:05.120Z`.
[[nodiscard]] std::string format_instant(Instant at);

/// Reads RFC 3339: `Z` or a numeric offset, fraction optional. Errors: invalid_input.
[[nodiscard]] Expected<Instant> parse_instant(std::string_view text);

/// A span for people: `0.4 s`, `59 s`, `12 min`, `3 h 05 min`.
[[nodiscard]] std::string format_duration(std::chrono::milliseconds span);

}  // namespace slurmtune
