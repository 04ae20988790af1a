// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/study/event.hpp"

namespace slurmtune {

/// A job of a study as the journal knows it.
struct JobRecord {
  std::string name;
  StageName stage;
  JobKind kind = JobKind::array;
  int attempt = 0;
  std::int64_t first_slice = 0;
  std::optional<std::int64_t> tasks;  ///< absent: a single job
  std::optional<std::int64_t> job;    ///< absent: intended only
  bool lost = false;                  ///< the batch system knew no job of that name, or forgot it
  bool gone = false;                  ///< cancelled when the study ended, which was then extended
  std::string by;                     ///< who intended it, `host:pid`
  Instant intended_at;

  bool operator==(const JobRecord&) const = default;
};

/// The user's own training with the winner, as far as the journal knows it.
struct TrainingRecord {
  std::int64_t job = 0;  ///< 0 = outside of a job
  Instant started;
  std::optional<Instant> ended;  ///< absent: it runs, or nobody was left to say how it ended
  int exit_code = 0;             ///< if `ended`

  bool operator==(const TrainingRecord&) const = default;
};

/// Who starts a study's jobs.
enum class JobStarter {
  batch_system,  ///< Slurm, or the user's own sbatch
  foreground,    ///< a process of ours that stays until the study is done
};

/// What the journal says so far: a fold over its events, nothing else.
struct StudyState {
  StudyCreated created;
  Instant created_at;
  std::int64_t last_event = 0;
  std::vector<JobRecord> jobs;  ///< in the order of their first event
  std::set<StageName> decided;
  std::map<StageName, std::int64_t> released;               ///< stage -> slices that may run
  std::set<std::pair<std::int64_t, std::int64_t>> dropped;  ///< (job, first slice) cut off
  /// How tasks ended that are not as they should be: (job, task).
  std::map<std::pair<std::int64_t, std::int64_t>, EndedTask> ended_tasks;
  std::set<std::string> excluded_nodes;  ///< that failed, and that no job may get any more
  bool cancelled = false;
  std::optional<Finished> finished;
  std::set<RetriedTry> retried;        ///< tries that count no more
  std::map<StageName, Next> reopened;  ///< stage -> what follows it in place of the end
  Extended extension;                  ///< what all `extended` say together
  std::optional<Instant> deadline;     ///< as it was created with, or extended
  Instant deadline_since;              ///< when that deadline was set by an extension
  /// How often the study had ended for want of budget or time and was extended; what it decides
  /// then stands beside what was decided before.
  int ends_taken_back = 0;
  std::optional<TrainingRecord> training;  ///< mode = "run", once it has begun

  bool operator==(const StudyState&) const = default;

  /// The foreground for local studies, and for those inside one job or allocation.
  [[nodiscard]] JobStarter starter() const;
  /// Each reducer submits the next stage (submit = "step").
  [[nodiscard]] bool goes_by_steps() const { return created.submit == "step"; }
  /// Jobs of one stage and kind that have a number (not merely intended), oldest first. One that
  /// was forgotten may have left shards.
  [[nodiscard]] std::vector<const JobRecord*> jobs_of(const StageName& stage, JobKind kind) const;
  /// The intent that nobody has completed yet, if there is one.
  [[nodiscard]] const JobRecord* open_intent() const;
  /// The attempt that the next job of this stage and kind would be.
  [[nodiscard]] int next_attempt(const StageName& stage, JobKind kind) const;
};

/// True if a study that ended so goes on with more budget or time.
[[nodiscard]] bool may_be_extended(const Finished& finished);

/// Folds a journal. Errors: corrupt_data if it does not begin with study_created.
[[nodiscard]] Expected<StudyState> fold(std::span<const Event> events);

/// `st-<first 8 of study>-<stage>-<a|r|guard|final|launch>-<attempt>`; no stage where a job
/// is for none.
[[nodiscard]] std::string job_name(const StudyId& study, const StageName& stage, JobKind kind,
                                   int attempt);

}  // namespace slurmtune
