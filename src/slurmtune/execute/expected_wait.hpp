// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string_view>

#include "slurmtune/base/error.hpp"
#include "slurmtune/base/instant.hpp"
#include "slurmtune/execute/site_directives.hpp"
#include "slurmtune/input/site.hpp"

namespace slurmtune {

/// How long such a job would wait in the queue as it is now, as Slurm itself estimates it: one
/// `sbatch --test-only`, which submits nothing. Errors: unavailable without sbatch or an answer
/// within `patience`; invalid_input in Slurm's words if it would refuse the job.
[[nodiscard]] Expected<std::chrono::seconds> expected_wait(const Site& site, const NodesJob& job,
                                                           Instant now,
                                                           std::chrono::milliseconds patience);

/// The start in what `sbatch --test-only` prints (`… to start at 2026-12-01T20:00:00 using …`), in
/// the local time of this host. Errors: unavailable if it names none.
[[nodiscard]] Expected<Instant> parse_expected_start(std::string_view output);

}  // namespace slurmtune
