// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "slurmtune/analyze/result_analyzer.hpp"
#include "slurmtune/base/error.hpp"
#include "slurmtune/execute/tuning_executor.hpp"
#include "slurmtune/study/decide.hpp"
#include "slurmtune/study/study_directory.hpp"
#include "slurmtune/tune/world.hpp"

namespace slurmtune {

/// Orchestrates a study: look, fold, decide, act, until the role has nothing left to do.
///
/// It generates, executes and analyzes nothing itself: ExperimentGenerator (through
/// ResultAnalyzer), TuningExecutor and ResultAnalyzer do. Any number of processes may do this at
/// once, and each may die at any instant: what is published is published once, and whoever comes
/// next goes on from there.
class Autotuner {
 public:
  /// Opens a study for this process. `executor` must outlive the Autotuner.
  [[nodiscard]] static Expected<Autotuner> open(StudyDirectory directory, TuningExecutor& executor,
                                                World world);

  /// Does everything that the intent's role asks for. Returns the state that it left.
  /// Errors: those of `decide`, of the batch system and of the disk.
  [[nodiscard]] Expected<StudyState> advance(const Intent& intent);

  /// One look at the files and, unless `Queue::skip`, at the batch system, as often as the executor
  /// lets.
  enum class Queue { ask, skip };
  [[nodiscard]] Expected<StudyView> look(Queue queue);

  /// Cancels every job of the study and waits for their end, `patience` at most. Returns those that
  /// are over. Errors: those of the batch system and of the disk.
  [[nodiscard]] Expected<std::set<std::int64_t>> end_all_jobs(std::chrono::seconds patience);

  /// What a reducer that saw `view` would know besides manifests and verdicts.
  [[nodiscard]] Spending spending_of(const StudyView& view) const;

  /// Whole jobs that the last advance() has cancelled.
  [[nodiscard]] const std::set<std::int64_t>& cancelled_jobs() const { return cancelled_jobs_; }

  [[nodiscard]] const StudyDirectory& directory() const { return directory_; }
  [[nodiscard]] const StudyInput& input() const { return input_; }
  [[nodiscard]] const Plan& plan() const { return plan_; }

 private:
  Autotuner(StudyDirectory directory, StudyInput input, Plan plan, TuningExecutor& executor,
            World world);

  [[nodiscard]] Expected<void> act(const StudyView& view, const SubmitJob& action);
  [[nodiscard]] Expected<void> act(const StudyView& view, const LookUpJob& action);
  [[nodiscard]] Expected<void> act(const StudyView& view, const AwaitSubmitter& action);
  [[nodiscard]] Expected<void> act(const StudyView& view, const AwaitShards& action);
  [[nodiscard]] Expected<void> act(const StudyView& view, const ReduceStage& action);
  [[nodiscard]] Expected<void> act(const StudyView& view, const RecordDecision& action);
  [[nodiscard]] Expected<void> act(const StudyView& view, const ReleaseStage& action);
  [[nodiscard]] Expected<void> act(const StudyView& view, const DropTasks& action);
  [[nodiscard]] Expected<void> act(const StudyView& view, const CancelJob& action);
  [[nodiscard]] Expected<void> act(const StudyView& view, const RecordCancelled& action);
  [[nodiscard]] Expected<void> act(const StudyView& view, const ReportSoFar& action);
  [[nodiscard]] Expected<void> act(const StudyView& view, const FinishStudy& action);
  [[nodiscard]] Expected<void> act(const StudyView& view, const RecordEndings& action);
  [[nodiscard]] Expected<void> act(const StudyView& view, const ExcludeNodes& action);

  /// Appends the event after the last one that `view` saw. Losing is no error: the next look shows
  /// what the winner did.
  [[nodiscard]] Expected<Journal::Append> append(const StudyView& view, EventBody body);
  /// As `look`, but the batch system is asked once in an advance().
  [[nodiscard]] Expected<StudyView> see(Queue queue);
  [[nodiscard]] Expected<void> ask_queue(StudyView& view);
  struct QueueAnswer;
  /// What is to be known of jobs that the answer lacks: accounting first, else the same question
  /// again after a pause.
  [[nodiscard]] Expected<void> explain_absence(const StudyView& view,
                                               const std::vector<JobId>& jobs);
  /// Asks accounting for endings that the queue does not tell, once a job.
  void ask_accounting(const StudyView& view);
  void take(const StudyView& view, const std::vector<JobReport>& reports);
  [[nodiscard]] bool is_deadline_near(const StudyView& view) const;
  [[nodiscard]] TuningResult result_so_far(const StudyView& view, Stop stop) const;
  void say(const std::string& line) const;

  StudyDirectory directory_;
  StudyInput input_;
  Plan plan_;
  TuningExecutor* executor_;
  World world_;
  Journal journal_;
  EndedShards ended_shards_;
  /// The last answer of the batch system, kept up to date with what this process did since.
  struct QueueAnswer {
    std::set<std::int64_t> asked;  ///< jobs that it speaks of
    std::set<std::int64_t> live;   ///< those of them that are not over
    std::set<std::int64_t> held;   ///< of those, the ones with a task that is held after a launch
    std::set<std::int64_t> moves;  ///< those with a task that is not
    std::set<std::int64_t> told;   ///< those that it has any word of
    std::map<std::pair<std::int64_t, std::int64_t>, JobReport> over;  ///< tasks that are over
    std::set<std::int64_t> accounted;  ///< those that accounting was asked about
  };
  std::optional<QueueAnswer> queue_;
  std::set<std::int64_t> cancelled_jobs_;
  bool settled_ = false;
  /// Whether what this process came for depends on which jobs are gone.
  enum class Absence { believed, doubted } absence_ = Absence::believed;
  std::string silence_;  ///< why `advance` got no answer of the batch system; "" = it did
  bool asked_for_nodes_ = false;
  std::optional<std::int64_t> nodes_there_;
  bool reported_ = false;
};

}  // namespace slurmtune
