// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "slurmtune/base/instant.hpp"

namespace slurmtune {

/// When the Slurm job that this process runs in will be ended: SLURM_JOB_END_TIME, else now and
/// squeue's TIME_LEFT; nothing outside of a job, or where neither tells it.
[[nodiscard]] std::optional<Instant> allocation_end(Instant now);

}  // namespace slurmtune
