// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/study/view.hpp"

namespace slurmtune {

/// What a process has come to do; it bounds the actions that `decide` may ask of it.
enum class Role {
  submit,  ///< get every job of the graph submitted, then leave
  reduce,  ///< conclude stages up to one, as far as their tasks have ended
  finish,  ///< `final`: conclude whatever is left, then end the study
  guard,   ///< the deadline: end the study with what there is
  resume,  ///< reduce what can be, then submit what is missing
  cancel,  ///< end everything now
  extend,  ///< the budget was changed: get a guard for the new deadline, in place of the old one
};

// --- Actions. Each is done by one process, and doing it twice changes nothing. ---

/// Journals the intent, asks the batch system, journals the answer.
struct SubmitJob {
  StageName stage;
  JobKind kind = JobKind::array;
  int attempt = 0;
  std::int64_t first_slice = 0;
  std::optional<std::int64_t> tasks;
  std::vector<std::int64_t> after_any;
  bool operator==(const SubmitJob&) const = default;
};
/// Looks up by name whether an intended submission came to be.
struct LookUpJob {
  std::string name;
  bool operator==(const LookUpJob&) const = default;
};
/// Waits until another process has completed its submission, or may be taken to be dead.
struct AwaitSubmitter {
  std::string name;  ///< of the job that it submits
  bool operator==(const AwaitSubmitter&) const = default;
};
/// Waits for shards that the filesystem may not show yet, then looks again.
struct AwaitShards {
  std::size_t stage = 0;
  bool operator==(const AwaitShards&) const = default;
};
/// Concludes a stage: proposal of the next manifest, then decision.json.
struct ReduceStage {
  std::size_t stage = 0;
  bool operator==(const ReduceStage&) const = default;
};
/// Journals a decision that stands on disk.
struct RecordDecision {
  std::size_t stage = 0;
  bool operator==(const RecordDecision&) const = default;
};
/// Puts the manifest that a decision names in its place and journals the release.
struct ReleaseStage {
  std::size_t decided = 0;  ///< the stage whose decision releases
  std::size_t stage = 0;    ///< the stage that is released
  bool operator==(const ReleaseStage&) const = default;
};
/// Cancels array tasks [first, end) of a job, then journals it.
struct DropTasks {
  StageName stage;
  std::int64_t job = 0;
  std::int64_t first = 0;
  std::int64_t end = 0;
  bool operator==(const DropTasks&) const = default;
};
/// Journals how tasks ended, as the batch system told.
struct RecordEndings {
  StageName stage;
  std::int64_t job = 0;
  std::vector<EndedTask> tasks;
  bool operator==(const RecordEndings&) const = default;
};
/// Has jobs that wait avoid nodes that failed, then journals them for later ones.
struct ExcludeNodes {
  std::vector<std::string> nodes;
  std::string why;
  bool operator==(const ExcludeNodes&) const = default;
};
/// Cancels a whole job that is not needed any more.
struct CancelJob {
  std::int64_t job = 0;
  bool operator==(const CancelJob&) const = default;
};
/// Journals that the user ended the study.
struct RecordCancelled {
  bool operator==(const RecordCancelled&) const = default;
};
/// Writes the result as it stands, of a study that waits to be resumed.
struct ReportSoFar {
  bool operator==(const ReportSoFar&) const = default;
};
/// Writes the result and everything derived from it, then journals `finished`.
struct FinishStudy {
  std::optional<std::size_t> decided;  ///< the decision that holds the result; absent: as it stands
  Stop stop = Stop::cancelled;         ///< used if `decided` is absent
  bool operator==(const FinishStudy&) const = default;
};

using Action = std::variant<SubmitJob, LookUpJob, AwaitSubmitter, AwaitShards, ReduceStage,
                            RecordDecision, ReleaseStage, DropTasks, CancelJob, RecordCancelled,
                            ReportSoFar, FinishStudy, RecordEndings, ExcludeNodes>;

/// What this process came for.
struct Intent {
  Role role = Role::reduce;
  std::size_t stage = 0;  ///< reduce: up to and including this one
};

/// Whether a study ends with a training that may be launched or was: mode = "run", finished with a
/// winner, not cancelled.
[[nodiscard]] bool wants_training(const Plan& plan, const StudyState& state);

/// The next thing to do, or nothing if this role has nothing left to do. Pure and deterministic.
/// Errors: unavailable if another process is submitting right now (it is named), or if a stage
/// cannot be concluded yet; corrupt_data if the files contradict each other.
[[nodiscard]] Expected<std::optional<Action>> decide(const StudyView& view, const Intent& intent,
                                                     Instant now);

}  // namespace slurmtune
