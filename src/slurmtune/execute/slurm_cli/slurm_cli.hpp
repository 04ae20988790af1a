// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <memory>

#include "slurmtune/study/scheduler.hpp"

namespace slurmtune {

struct SlurmCliOptions {
  /// How long one command may take: the controller's MessageTimeout several times over.
  std::chrono::milliseconds command_timeout{60'000};
  /// How long sacct may take: what it tells is worth a moment.
  std::chrono::milliseconds accounting_timeout{10'000};
};

/// Slurm by its commands sbatch, squeue, scancel, scontrol and, where it is there, sacct, found in
/// PATH. It works with every release of Slurm, and where no headers of it are installed. Nothing is
/// retried: see TuningExecutor. Errors: unavailable if the commands are not there.
[[nodiscard]] Expected<std::unique_ptr<Scheduler>> make_slurm_cli(SlurmCliOptions options = {});

}  // namespace slurmtune
