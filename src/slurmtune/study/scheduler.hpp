// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/base/instant.hpp"

namespace slurmtune {

/// Slurm's number of a job; of an array, the number that its tasks share.
struct JobId {
  std::int64_t number = 0;

  // As in record/ids.hpp.
  auto operator<=>(const JobId&) const = default;  // NOLINT(modernize-use-nullptr)
};

/// What may be said of a job. A state that is not known is `unknown`, never an error. Endings that
/// lead to different actions are different states (endings.hpp).
enum class JobState {
  pending,
  requeued,       ///< ended before its time and will run again by itself
  requeued_held,  ///< the same, but held: it runs again once somebody releases it
  running,        ///< also completing and configuring: it may still write
  suspended,      ///< stopped by the batch system; it goes on later
  completed,      ///< exit code 0
  failed,         ///< exit code or signal; of the script
  cancelled,      ///< by whom: JobReport::cancelled_by
  timed_out,      ///< ran into its time limit
  deadline,       ///< could not, or can no longer, end before its --deadline
  node_failed,    ///< a node that it ran on died
  boot_failed,    ///< its nodes did not boot, or it could not be launched there
  preempted,      ///< made room for another job
  out_of_memory,  ///< used more memory than it asked for
  unknown,
};

/// True if no process of such a job runs or will run.
[[nodiscard]] bool is_over(JobState state);
/// True if it has not started, or not started again.
[[nodiscard]] bool is_waiting(JobState state);
[[nodiscard]] std::string_view name_of(JobState state);

/// One job, or one array of jobs, as the batch system is asked for it.
struct JobRequest {
  std::string name;     ///< unique in the study: the key by which a lost submit is found
  std::string script;   ///< absolute path; its #SBATCH lines hold the resources
  std::string workdir;  ///< absolute
  std::optional<std::int64_t> array_tasks;    ///< tasks 0 … n-1; absent = a single job
  std::optional<std::int64_t> array_at_once;  ///< throttle (`%N`)
  std::vector<JobId> after_any;               ///< starts once all of these have ended, however
  std::optional<Instant> begin;               ///< not before
  /// Nodes that it must not use, names and ranges with commas; in place of what the script says.
  /// Empty: as the script says.
  std::string exclude{};
};

/// Who cancelled a job, as far as the batch system tells (Slurm: its accounting alone).
enum class CancelledBy {
  unknown,
  owner,  ///< the study's own user: by hand, or a program of theirs, ours included
  other,  ///< root, an operator, a coordinator
};
[[nodiscard]] std::string_view name_of(CancelledBy by);

/// The state of one job or of one group of array tasks.
struct JobReport {
  JobId job;
  std::optional<std::int64_t> task;  ///< absent: the whole job, or the pending rest of an array
  std::string name;
  JobState state = JobState::unknown;
  std::string reason;  ///< the batch system's word: Dependency, Priority, Resources, …
  std::string nodes;   ///< node list, "" while pending
  // Of a job that is over, as far as the client is told; absent or unknown else.
  std::optional<int> exit_code = std::nullopt;  ///< of the script
  std::optional<int> signal = std::nullopt;     ///< that ended the script
  CancelledBy cancelled_by = CancelledBy::unknown;
  std::optional<int> restarts = std::nullopt;  ///< how often it was requeued
  /// While it waits: when the batch system expects to start it; absent if it does not say.
  std::optional<Instant> starts = std::nullopt;
};

/// Whether the batch system failed to launch what it reports of and holds it since.
[[nodiscard]] bool is_held_after_launch(const JobReport& report);

/// The batch system as a study needs it. One suite (tests/contract) holds for every implementation.
class Scheduler {
 public:
  Scheduler() = default;
  Scheduler(const Scheduler&) = delete;
  Scheduler& operator=(const Scheduler&) = delete;
  virtual ~Scheduler() = default;

  /// Errors: unavailable if the controller does not answer (the job may exist: look with `find`),
  /// invalid_input if it refuses (no such partition, array too large, …), in its own words.
  [[nodiscard]] virtual Expected<JobId> submit(const JobRequest& job) = 0;

  /// The job of that name, of this user, still known to the controller; the newest if several.
  [[nodiscard]] virtual Expected<std::optional<JobId>> find(const std::string& name) = 0;

  /// One query for all of `jobs`. A job that the controller no longer knows is left out, as are
  /// array tasks that were cancelled while pending: what is not reported is over.
  [[nodiscard]] virtual Expected<std::vector<JobReport>> report(std::span<const JobId> jobs) = 0;

  /// The same from the batch system's accounting, which knows jobs that `report` has forgotten and
  /// who cancelled them, and is slower; by one question, with a time limit. Only what is over is
  /// reported. Errors: unavailable where there is no accounting or it does not answer.
  [[nodiscard]] virtual Expected<std::vector<JobReport>> accounting(
      std::span<const JobId> jobs) = 0;

  /// Has those tasks of a job that have not started avoid nodes (names and ranges, with commas), in
  /// place of those that they avoided so far. No task that waits, no job: no error.
  /// Errors: unavailable; invalid_input if the controller refuses, in its words.
  [[nodiscard]] virtual Expected<void> exclude_nodes(JobId job, const std::string& nodes) = 0;

  /// Cancels a job with all its tasks. A job that is over or unknown is no error.
  [[nodiscard]] virtual Expected<void> cancel(JobId job) = 0;

  /// Cancels tasks [first, end) of an array, running or not. Ended ones are no error.
  [[nodiscard]] virtual Expected<void> cancel_tasks(JobId job, std::int64_t first,
                                                    std::int64_t end) = 0;

  /// What speaks to the batch system: `slurm commands 22.05.8`, `libslurm 22.05.8`, `local`.
  [[nodiscard]] virtual std::string description() const = 0;
};

}  // namespace slurmtune
