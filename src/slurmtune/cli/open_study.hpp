// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/execute/local/local_scheduler.hpp"
#include "slurmtune/execute/tuning_executor.hpp"
#include "slurmtune/tune/autotuner.hpp"
#include "slurmtune/tune/create_study.hpp"
#include "slurmtune/tune/one_job.hpp"

namespace slurmtune {

/// What a command wants of the Slurm that a study was submitted to.
enum class SlurmNeed {
  at_once,          ///< nothing goes without it
  unless_finished,  ///< the same; of a study of which nothing is left to run the files say all
  when_asked,       ///< it only looks: it tries once, and not for long
};

/// A study that is there, with what it needs to be worked on by this process.
struct OpenStudy {
  StudyState state;  ///< as it was when it was opened
  std::unique_ptr<TuningExecutor> executor;
  LocalScheduler* local = nullptr;  ///< the batch system, if this process is it
  std::unique_ptr<Autotuner> autotuner;
  SlurmNeed need = SlurmNeed::at_once;

  /// A process of ours runs its jobs, on this machine or inside one job of Slurm's.
  [[nodiscard]] bool is_local() const { return state.starter() == JobStarter::foreground; }
  [[nodiscard]] bool is_one_job() const { return state.created.submit == "one-job"; }
};

/// Who this process is to a local study: the one that runs its jobs, or one of its jobs.
enum class LocalPart { foreground, bystander };

/// Opens a study and the batch system that it was submitted to.
/// Errors: those of StudyDirectory::open and read_input; unavailable without that batch system,
/// where it is needed.
[[nodiscard]] Expected<OpenStudy> open_study(const std::filesystem::path& directory, LocalPart part,
                                             SlurmNeed need = SlurmNeed::at_once);

/// A client of this machine's Slurm, whatever the study was submitted to. Errors: unavailable,
/// unless it is asked later.
[[nodiscard]] Expected<std::unique_ptr<TuningExecutor>> open_slurm(
    SlurmNeed need = SlurmNeed::at_once);

/// Tells the user of drafts that killed commands have left beside a new study.
void warn_of_drafts(const CreatedStudy& created);

/// Submits every job that a study on Slurm lacks. If Slurm refuses a job of a study that was just
/// created, those before it are cancelled and the study is withdrawn: a refusal leaves nothing
/// behind. Errors: those of Autotuner::advance.
[[nodiscard]] Expected<StudyState> submit_missing_jobs(OpenStudy& study,
                                                       const CreatedStudy& created);

/// Submits the one job of such a study; withdrawn likewise. Errors: those of submit_whole_job.
[[nodiscard]] Expected<WholeJob> submit_one_job(const CreatedStudy& created);

/// What was submitted, one line a job, or that nothing was missing.
[[nodiscard]] std::string whole_job_lines(const WholeJob& whole);

/// Inside a job of such a study: makes sure that another one goes on where its time may be too
/// short, and tells the processes that are started here. Returns that job, if there is one.
[[nodiscard]] std::optional<std::int64_t> prepare_successor(const StudyDirectory& directory);

/// The jobs of a study that are Slurm's, and a client to ask about them: all of a graph, of a study
/// in one job those that hold it (what runs inside has numbers of its own), none of one that runs
/// here.
struct SlurmJobs {
  std::vector<JobId> jobs;
  TuningExecutor* client = nullptr;       ///< the study's own, or `own`
  std::unique_ptr<TuningExecutor> own{};  ///< for a study in one job
};
/// `before`: an answer of this function, whose client is used again. Errors: unavailable without
/// Slurm.
[[nodiscard]] Expected<SlurmJobs> slurm_jobs_of(const OpenStudy& study, const StudyState& state,
                                                SlurmJobs before = {});

/// Of a study in one job: that no such job waits or runs, by one question to Slurm.
/// Errors: unavailable, naming the job; those of Slurm.
[[nodiscard]] Expected<void> check_no_whole_job(const OpenStudy& study);

/// The jobs of a local study are known to one process only: a second one would run them again, or
/// conclude without them. Errors: unavailable if another process works on the study.
[[nodiscard]] Expected<void> check_alone(const OpenStudy& study);

}  // namespace slurmtune
