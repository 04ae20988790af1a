// SPDX-License-Identifier: MIT
#pragma once

#include "slurmtune/base/error.hpp"
#include "slurmtune/execute/job_script.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/plan/plan.hpp"
#include "slurmtune/study/decide.hpp"
#include "slurmtune/study/scheduler.hpp"
#include "slurmtune/study/study_directory.hpp"

namespace slurmtune {

/// Directories that the jobs of a stage write into.
[[nodiscard]] Expected<void> make_stage_directories(const StudyDirectory& directory,
                                                    const StageName& stage);

/// Renders the job script of an action, puts it in its place (doing it twice changes nothing) and
/// makes the request for the batch system. `now` tells when trials may begin (budget.window).
[[nodiscard]] Expected<JobRequest> prepare_job(const StudyDirectory& directory,
                                               const StudyInput& input, const Plan& plan,
                                               const StudyState& state, const SubmitJob& action,
                                               Instant now);

/// The nodes that jobs leave out, the site's and those that failed, as Slurm wants them; "" if the
/// study has excluded none of its own.
[[nodiscard]] std::string excluded_nodes(const StudyInput& input, const StudyState& state);

/// The script that `prepare_job` renders; also for showing what would be submitted.
[[nodiscard]] Expected<JobScript> job_script_of(const StudyDirectory& directory,
                                                const StudyInput& input, const Plan& plan,
                                                const StudyCreated& created,
                                                const SubmitJob& action);

}  // namespace slurmtune
