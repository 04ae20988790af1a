// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

#include "slurmtune/base/error.hpp"
#include "slurmtune/base/instant.hpp"

namespace slurmtune {

/// [slurm] `begin` as a point in time, in sbatch's words (sbatch(1), --begin), seen from `now` in
/// the time zone of this host: `16:00` and `noon` are the next one, `now+2hours`, `tomorrow`,
/// `2026-12-01`, `2026-12-01T20:00`. Errors: invalid_input for anything else.
[[nodiscard]] Expected<Instant> begin_time(std::string_view words, Instant now);

}  // namespace slurmtune
