// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/generate/experiment_generator.hpp"
#include "slurmtune/plan/plan.hpp"
#include "slurmtune/record/decision.hpp"
#include "slurmtune/record/manifest.hpp"
#include "slurmtune/record/verdict.hpp"
#include "slurmtune/study/endings.hpp"
#include "slurmtune/study/scheduler.hpp"
#include "slurmtune/study/state.hpp"

namespace slurmtune {

/// One stage as its files show it.
struct StageView {
  std::optional<Manifest> manifest;
  std::optional<Decision> decision;
  std::filesystem::path decision_path;  ///< where `decision` stands
  std::vector<Shard> shards;
};

/// Everything that one look at a study saw. `decide` sees nothing else.
struct StudyView {
  Plan plan;
  StudyState state;
  std::vector<StageView> stages;  ///< as plan.stages

  /// Jobs that run or will run, by number; absent if the batch system could not be asked.
  std::optional<std::set<std::int64_t>> live_jobs;
  /// Those of them that could not be launched and are held since: they run only once somebody
  /// releases them.
  std::set<std::int64_t> held_jobs;
  /// True once open shards were waited for as long as the filesystem may need to show them.
  bool settled = false;
  /// True if whoever intended a submission is known to be dead (same host, no such process).
  bool submitter_is_dead = false;
  bool deadline_near = false;  ///< no further stage can end before the deadline
  bool deadline_passed = false;
  bool reported = false;                ///< the result so far was written by this process
  std::optional<std::int64_t> own_job;  ///< the job that this process runs in
  /// Another job goes on once the time of this one is over (submit = "one-job", in several jobs).
  bool time_follows = false;
  /// Tasks of arrays that the batch system, asked now, calls over. What is to be concluded from
  /// them is journalled first: StudyState::ended_tasks.
  std::vector<JobReport> reported_over;
  /// How many nodes the study's jobs could run on, if that is known.
  std::optional<std::int64_t> nodes_there;

  [[nodiscard]] bool is_live(const JobRecord& job) const {
    return job.job && !job.lost && live_jobs && live_jobs->contains(*job.job);
  }
};

/// Puts what the user released in place of an end (`retried`) into the decision that came to it.
void reopen_decisions(StudyView& view);

/// Index of the stage that is being worked on: the one the last decision names, or the first.
/// `plan.stages.size()` if the last decision says finish.
[[nodiscard]] std::size_t current_stage(const StudyView& view);

/// Slices of a stage that neither ended nor have verdicts for all of their experiments, sorted.
/// What the end of the window kept a task from running, or cut off, has no verdict.
[[nodiscard]] std::vector<std::int64_t> open_slices(const StageView& stage);

/// Manifests and verdicts of the stages up to and including `last`, those that have a manifest.
[[nodiscard]] std::vector<StageHistory> history_of(const StudyView& view, std::size_t last);

/// The same, with a verdict of reason `lost_task` or `lost_for_good` for each experiment that its
/// task left without one: its outcome is as the task's ending has it (endings.hpp), its evidence
/// says what became of the task. What a task wrote because the study's owner cancelled it has the
/// reason `cancelled_by_owner`. Only where no task runs any more.
[[nodiscard]] std::vector<StageHistory> history_with_losses(const StudyView& view,
                                                            std::size_t last);

/// What `reported_over` tells of tasks of a stage that matters to its conclusions and is not in the
/// journal yet: how those ended that left experiments without a verdict, that were cancelled, or
/// whose node failed. Of one job at a time; empty if there is none.
struct NewEndings {
  std::int64_t job = 0;
  std::vector<EndedTask> tasks;  ///< by number
};
[[nodiscard]] NewEndings new_endings(const StudyView& view, std::size_t stage);

/// Node-seconds of all tasks so far. A task without task_end is charged to its limit. Under a
/// budget so is one that left no shard at all, once its array is over: it may have hung before it
/// could write a line. Needs `live_jobs` for that. While such a study goes on, so are starts
/// without a shard of tasks that were started again, as far as there was time for them.
[[nodiscard]] std::int64_t spent_node_seconds(const StudyView& view);

/// True if the tasks of a stage that are left wait for the next window: those that ran last were
/// ended by it.
[[nodiscard]] bool is_cut_by_window(const StageView& stage);

}  // namespace slurmtune
