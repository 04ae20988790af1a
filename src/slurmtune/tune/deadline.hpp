// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string_view>

#include "slurmtune/base/error.hpp"
#include "slurmtune/base/instant.hpp"
#include "slurmtune/base/time_window.hpp"
#include "slurmtune/input/study_spec.hpp"

namespace slurmtune {

/// `budget.finish_by` as a point in time: `07:30` is the next one in the time zone of this host,
/// anything else is RFC 3339. Errors: invalid_input if it is neither, is past, or no later than the
/// guard's margin (task_time.hpp), so that nothing could be measured.
[[nodiscard]] Expected<Instant> deadline_of(std::string_view finish_by, Instant now);

/// The same of a study; nothing if it has no finish_by. Errors name the line.
[[nodiscard]] Expected<std::optional<Instant>> deadline_of(const StudySpec& spec, Instant now);

/// Daily hours as windows in UTC: with the offsets of this host's time zone, now and for two years.
[[nodiscard]] TimeWindow window_from(const DailyHours& hours, Instant now);

}  // namespace slurmtune
