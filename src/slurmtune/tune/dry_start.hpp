// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>

#include "slurmtune/base/error.hpp"
#include "slurmtune/tune/create_study.hpp"

namespace slurmtune {

inline constexpr std::chrono::milliseconds dry_start_limit{120'000};

/// Starts the command of the baseline, and of a configuration that differs from it, as rank 0 with
/// the arguments of trial.dry_start, here and now: before any node is asked for, it is known
/// whether the trial can read its arguments and its ds_config. What it tells of its own parsing in
/// a JSON line (`{"ds_config": {"train_micro_batch_size_per_gpu": 2}}`, on standard output or in
/// the file SLURMTUNE_METRICS) must agree with what was written for it. Each has `limit`; what it
/// started is ended with it. Does nothing without trial.dry_start. Errors: invalid_input: it did
/// not exit with 0, or in time, or it read something else: the key, ours and theirs; unavailable:
/// it could not be started.
[[nodiscard]] Expected<void> check_dry_start(const LoadedStudy& study,
                                             std::chrono::milliseconds limit = dry_start_limit);

}  // namespace slurmtune
