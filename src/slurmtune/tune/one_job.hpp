// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/execute/tuning_executor.hpp"
#include "slurmtune/study/study_directory.hpp"
#include "slurmtune/tune/world.hpp"

namespace slurmtune {

/// The job that holds a whole study (submit = "one-job"), or the first of a chain of them.
struct WholeJob {
  std::int64_t job = 0;
  bool is_new = false;                ///< else it was in the queue, or running, already
  std::vector<std::int64_t> chained;  ///< new ones that go on after it, each after the one before
};

/// Submits the job of such a study to Slurm, unless one of its jobs is there. A study that is
/// longer than a job may be goes on in further ones: each submits the next at its start; where jobs
/// cannot submit jobs, all that are needed at worst are submitted here, as many as one user may
/// have. Errors: those of the journal and the executor.
[[nodiscard]] Expected<WholeJob> submit_whole_job(const StudyDirectory& directory,
                                                  TuningExecutor& executor, const World& world);

/// The job that goes on once the time of the one is over that this process runs in: one that is
/// there already, or a new one. Nothing where one job is enough, where the study is finished, where
/// jobs cannot submit jobs, or where there were as many as the plan's worst case needs.
/// Errors: those of the journal and the executor.
[[nodiscard]] Expected<std::optional<std::int64_t>> follow_whole_job(
    const StudyDirectory& directory, TuningExecutor& executor, const World& world);

/// Cancels those of its jobs that are there, but for `own_job`.
[[nodiscard]] Expected<void> cancel_whole_jobs(const StudyDirectory& directory,
                                               TuningExecutor& executor,
                                               std::optional<std::int64_t> own_job = {});

}  // namespace slurmtune
