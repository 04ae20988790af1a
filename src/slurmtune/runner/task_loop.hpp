// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "slurmtune/record/manifest.hpp"
#include "slurmtune/record/verdict.hpp"

namespace slurmtune {

/// The experiments of a slice that are still to be run, in order, given the shards that earlier
/// runs of the same array task left: those they have tried are left out, the attempt of the others
/// counts their verdicts. Empty if the manifest has no such slice.
[[nodiscard]] std::vector<Experiment> open_experiments(const Manifest& manifest, std::int64_t slice,
                                                       const std::vector<Shard>& earlier);

/// How long an experiment will likely take, in seconds: half as long again as the longest trial of
/// this task so far; without one, from the expected step time; else a minute. Never more than
/// its limits.total_s.
[[nodiscard]] double likely_trial_s(const Experiment& experiment,
                                    std::optional<double> longest_trial_s);

}  // namespace slurmtune
