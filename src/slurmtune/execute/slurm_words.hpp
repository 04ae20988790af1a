// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/study/scheduler.hpp"

namespace slurmtune {

// What Slurm says, in our terms: for every client of it.

/// The state of that name (squeue(1), JOB STATE CODES; `CANCELLED by 0` and `RUNNING+` too).
/// One that is not known is JobState::unknown.
[[nodiscard]] JobState job_state_named(std::string_view slurm_state);

/// What a message of Slurm means for whoever asked.
enum class SlurmAnswer {
  no_answer,    ///< the controller, munge or the network: what was asked may have been done
  unknown_job,  ///< no such job, or forgotten
  job_is_over,  ///< it has ended, or is ending
  refused,      ///< anything else
};
[[nodiscard]] SlurmAnswer classify_message(std::string_view message);

/// True if Slurm refuses a dependency. Ours name jobs that it took: a controller that was killed
/// has forgotten its last seconds. No fault of the request, but nothing to be asked again either.
[[nodiscard]] bool is_forgotten_dependency(std::string_view message);

/// The error of that, unavailable. `what`: `submit st-…`.
[[nodiscard]] tl::unexpected<Error> forgotten_dependency(const std::string& what);

/// The sentence that says why, without `sbatch: error: ` and the like; for an Error.
[[nodiscard]] std::string slurm_reason(std::string_view message);

/// A message about a submission, with the limit that is behind it where Slurm says no more than
/// "try again" (EAGAIN): the controller is busy, or holds as many jobs as it can.
[[nodiscard]] std::string with_limits_named(std::string message);

/// Our own environment for a submitted job: without what belongs to the job that we may run in
/// (SLURM_*, SLURMD_*; SLURM_CONF stays), or to the MPI rank (PMIX_*, PMI_*, what mpirun sets of
/// OMPI_*), and without SBATCH_* variables, which would override the
/// job script, so that a study asks for the same wherever it is submitted from.
[[nodiscard]] std::vector<std::string> submission_environment(
    const std::vector<std::string>& environment);

/// A job name that can be searched for: letters, digits and `. _ -`. Errors: invalid_input.
[[nodiscard]] Expected<void> check_job_name(std::string_view name);

/// `0-31%4`; nothing for a single job. Errors: invalid_input for an array without tasks.
[[nodiscard]] Expected<std::optional<std::string>> array_text(const JobRequest& job);

/// `afterany:12:13`, or "".
[[nodiscard]] std::string dependency_text(const JobRequest& job);

}  // namespace slurmtune
