// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "slurmtune/base/instant.hpp"

namespace slurmtune {

/// When the Slurm job that this process runs in will be ended: SLURM_JOB_END_TIME, else now and
/// squeue's TIME_LEFT; nothing outside of a job, or where neither tells it.
[[nodiscard]] std::optional<Instant> allocation_end(Instant now);

/// Whether the Slurm job that this process runs in is being ended, or was: what its steps have not
/// done is not their fault. False outside of a job, and where Slurm cannot be asked.
[[nodiscard]] bool allocation_is_gone();

}  // namespace slurmtune
