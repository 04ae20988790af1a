// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>

#include "slurmtune/base/error.hpp"
#include "slurmtune/execute/tuning_executor.hpp"
#include "slurmtune/study/study_directory.hpp"
#include "slurmtune/tune/world.hpp"

namespace slurmtune {

/// The job that holds a whole study (submit = "one-job").
struct WholeJob {
  std::int64_t job = 0;
  bool is_new = false;  ///< else it was in the queue, or running, already
};

/// Submits the job of such a study to Slurm, unless one of its jobs is there. Errors: those of the
/// journal and the executor.
[[nodiscard]] Expected<WholeJob> submit_whole_job(const StudyDirectory& directory,
                                                  TuningExecutor& executor, const World& world);

/// Cancels those of its jobs that are there.
[[nodiscard]] Expected<void> cancel_whole_jobs(const StudyDirectory& directory,
                                               TuningExecutor& executor);

}  // namespace slurmtune
