// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>

#include "slurmtune/study/scheduler.hpp"

namespace slurmtune {

struct SlurmCliOptions {
  /// How long one command may take: the controller's MessageTimeout several times over.
  std::chrono::milliseconds command_timeout{60'000};
};

/// Slurm by its commands sbatch, squeue and scancel, found in PATH. It works with every release of
/// Slurm, and where no headers of it are installed. Nothing is retried: see TuningExecutor.
/// Errors: unavailable if the commands are not there.
[[nodiscard]] Expected<std::unique_ptr<Scheduler>> make_slurm_cli(SlurmCliOptions options = {});

}  // namespace slurmtune
