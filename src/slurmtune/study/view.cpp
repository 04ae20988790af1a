// SPDX-License-Identifier: MIT
#include "slurmtune/study/view.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/model/history.hpp"
#include "slurmtune/study/endings.hpp"
#include "slurmtune/study/task_time.hpp"

namespace slurmtune {

namespace {

/// What a try that the user has run again says: that it was made, and nothing else.
void withdraw(Verdict& verdict) {
  verdict.outcome = Outcome::cancelled;
  verdict.reason = retried_try;
  verdict.evidence.reset();
  verdict.metrics = {};
}

StageHistory history_of_stage(const StageView& stage, const std::set<RetriedTry>& retried) {
  StageHistory entry{*stage.manifest, {}};
  for (const Shard& shard : stage.shards) {
    entry.verdicts.insert(entry.verdicts.end(), shard.verdicts.begin(), shard.verdicts.end());
  }
  if (retried.empty()) return entry;
  for (Verdict& verdict : entry.verdicts) {
    // With the last try all before it.
    const auto last = retried.lower_bound({verdict.experiment, verdict.attempt});
    if (last != retried.end() && last->experiment == verdict.experiment) withdraw(verdict);
  }
  return entry;
}

/// What became of the task that had a slice, as far as anybody tells.
struct LostTask {
  EndedTask task;
  bool began = false;  ///< its runner wrote something
};

LostTask lost_task_of(const StudyView& view, std::size_t index, std::int64_t slice) {
  const StageView& stage = view.stages[index];
  // Of the newest task that had the slice and that the journal knows.
  std::optional<std::int64_t> job;
  LostTask lost;
  for (const JobRecord* record : view.state.jobs_of(view.plan.stages[index].name, JobKind::array)) {
    const auto found = view.state.ended_tasks.find({*record->job, slice - record->first_slice});
    if (found == view.state.ended_tasks.end()) continue;
    job = record->job;
    lost.task = found->second;
  }
  const auto last =
      std::find_if(stage.shards.rbegin(), stage.shards.rend(), [&](const Shard& shard) {
        return shard.start.slice == slice && (!job || shard.start.array_job == *job);
      });
  lost.began = last != stage.shards.rend();
  if (!job && lost.began) {
    lost.task.ending = last->end ? TaskEnding::ended_before : TaskEnding::runner_died;
  }
  return lost;
}

/// How far an experiment of a lost task had come.
enum class Stand { waited, may_have_run, ran };

Outcome outcome_of(TaskEnding ending, Stand stand) {
  const Outcome outcome = rule_of(ending).outcome;
  if (stand == Stand::waited) return Outcome::not_started;
  // It moves a bound of memory: only of the one that surely did it.
  if (outcome == Outcome::host_oom && stand != Stand::ran) return Outcome::not_started;
  return outcome;
}

std::string what_became_of(const LostTask& lost, std::int64_t slice, std::int64_t walltime_s) {
  // The number of the slice, not of a job: decisions hold none.
  std::string line = fmt::format("task {}: {}", slice, words_of(lost.task, walltime_s));
  if (lost.task.ending == TaskEnding::timed_out && !lost.began) {
    line += ", before its first experiment: the set-up takes longer than a task may";
  }
  return line;
}

/// A verdict for each experiment of an open slice that has none.
void add_losses(const StudyView& view, std::size_t index, std::int64_t slice,
                const std::set<std::pair<ExperimentId, int>>& judged, StageHistory& entry) {
  const Manifest& manifest = *view.stages[index].manifest;
  const LostTask lost = lost_task_of(view, index, slice);
  const std::string line = what_became_of(lost, slice, manifest.task_walltime_s);
  const bool for_good = rule_of(lost.task.ending).remedy == Remedy::give_up;
  const auto& [first, end] = manifest.slices[static_cast<std::size_t>(slice)];
  int rank = 0;  // among those without a verdict: lanes take them in order
  for (std::int64_t k = first; k < end; ++k) {
    const Experiment& experiment = manifest.experiments[static_cast<std::size_t>(k)];
    if (judged.contains({experiment.id, experiment.attempt})) continue;
    Stand stand = Stand::waited;
    if (lost.began && rank < manifest.lanes) {
      stand = manifest.lanes == 1 ? Stand::ran : Stand::may_have_run;
    }
    ++rank;
    Verdict& verdict = entry.verdicts.emplace_back();
    verdict.experiment = experiment.id;
    verdict.configuration = experiment.configuration_id;
    verdict.attempt = experiment.attempt;
    verdict.outcome = outcome_of(lost.task.ending, stand);
    verdict.reason = for_good ? lost_for_good : lost_task;
    verdict.evidence.emplace().line = line;
  }
}

/// Marks what a task wrote because the study's owner cancelled it: they are not to get it again.
void mark_cancelled_by_owner(const StudyView& view, const StageView& stage, StageHistory& entry) {
  std::size_t next = 0;
  for (const Shard& shard : stage.shards) {
    const std::size_t first = std::exchange(next, next + shard.verdicts.size());
    if (!shard.end || shard.end->reason != "cancelled") continue;
    const auto task = view.state.ended_tasks.find({shard.start.array_job, shard.start.task});
    if (task == view.state.ended_tasks.end() ||
        task->second.ending != TaskEnding::cancelled_by_owner) {
      continue;
    }
    for (std::size_t i = first; i < next; ++i) {
      Verdict& verdict = entry.verdicts[i];
      const bool cut_off =
          verdict.outcome == Outcome::cancelled || verdict.outcome == Outcome::not_started;
      if (!cut_off || verdict.reason == retried_try) continue;
      verdict.reason = cancelled_by_owner;
      if (!verdict.evidence) verdict.evidence.emplace();
      verdict.evidence->line =
          fmt::format("task {}: {}", shard.start.slice, words_of(task->second, 0));
    }
  }
}

}  // namespace

void reopen_decisions(StudyView& view) {
  for (const auto& [stage, next] : view.state.reopened) {
    const auto index = view.plan.index_of(stage);
    if (!index || *index >= view.stages.size() || !view.stages[*index].decision) continue;
    Decision& decision = *view.stages[*index].decision;
    decision.next = next;
    decision.stop.reset();
    decision.result.reset();
  }
}

std::size_t current_stage(const StudyView& view) {
  std::size_t current = 0;
  // A decision names the next stage; those between were skipped. Each step goes forward, so that
  // the loop is bounded by the number of stages.
  while (current < view.stages.size() && view.stages[current].decision) {
    const Next& next = view.stages[current].decision->next;
    if (next.action == NextAction::finish) return view.stages.size();
    const auto index = view.plan.index_of(next.stage);
    if (!index || *index <= current) return view.stages.size();
    current = *index;
  }
  return current;
}

std::vector<std::int64_t> open_slices(const StageView& stage) {
  std::vector<std::int64_t> open;
  if (!stage.manifest) return open;
  std::set<std::pair<ExperimentId, int>> judged;
  std::set<std::int64_t> ended;
  for (const Shard& shard : stage.shards) {
    for (const Verdict& verdict : shard.verdicts) {
      if (ended_by_window(shard) && !rule_of(verdict.outcome).counts_as_tried) continue;
      judged.insert({verdict.experiment, verdict.attempt});
    }
    if (shard.end && shard.end->reason == "done") ended.insert(shard.start.slice);
  }
  const auto& slices = stage.manifest->slices;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    if (ended.contains(number)) continue;
    const auto first = stage.manifest->experiments.begin() + slices[i].first;
    const auto end = stage.manifest->experiments.begin() + slices[i].end;
    const bool all_judged = std::all_of(first, end, [&](const Experiment& experiment) {
      return judged.contains({experiment.id, experiment.attempt});
    });
    if (!all_judged) open.push_back(number);
  }
  return open;
}

std::vector<StageHistory> history_of(const StudyView& view, std::size_t last) {
  std::vector<StageHistory> history;
  for (std::size_t i = 0; i <= last && i < view.stages.size(); ++i) {
    const StageView& stage = view.stages[i];
    if (!stage.manifest) continue;
    history.push_back(history_of_stage(stage, view.state.retried));
  }
  return history;
}

std::vector<StageHistory> history_with_losses(const StudyView& view, std::size_t last) {
  std::vector<StageHistory> history;
  for (std::size_t i = 0; i <= last && i < view.stages.size(); ++i) {
    const StageView& stage = view.stages[i];
    if (!stage.manifest) continue;
    StageHistory& entry = history.emplace_back(history_of_stage(stage, view.state.retried));
    mark_cancelled_by_owner(view, stage, entry);
    std::set<std::pair<ExperimentId, int>> judged;
    for (const Verdict& verdict : entry.verdicts) {
      judged.insert({verdict.experiment, verdict.attempt});
    }
    for (const std::int64_t slice : open_slices(stage)) add_losses(view, i, slice, judged, entry);
  }
  return history;
}

NewEndings new_endings(const StudyView& view, std::size_t stage) {
  const StageView& files = view.stages[stage];
  std::set<std::int64_t> open;
  for (const std::int64_t slice : open_slices(files)) open.insert(slice);
  std::set<std::pair<std::int64_t, std::int64_t>> cancelled;
  for (const Shard& shard : files.shards) {
    if (!shard.end || shard.end->reason != "cancelled") continue;
    cancelled.insert({shard.start.array_job, shard.start.task});
  }
  NewEndings found;
  for (const JobRecord* job : view.state.jobs_of(view.plan.stages[stage].name, JobKind::array)) {
    for (const JobReport& report : view.reported_over) {
      if (report.job.number != *job->job) continue;
      const auto task = ended_task(report);
      if (!task || view.state.ended_tasks.contains({*job->job, task->task})) continue;
      const bool matters = open.contains(job->first_slice + task->task) ||
                           cancelled.contains({*job->job, task->task}) ||
                           rule_of(task->ending).remedy == Remedy::elsewhere;
      if (matters) found.tasks.push_back(*task);
    }
    if (found.tasks.empty()) continue;
    found.job = *job->job;
    std::sort(found.tasks.begin(), found.tasks.end(),
              [](const EndedTask& a, const EndedTask& b) { return a.task < b.task; });
    return found;
  }
  return found;
}

bool is_cut_by_window(const StageView& stage) {
  const auto open = open_slices(stage);
  return std::any_of(open.begin(), open.end(), [&](std::int64_t slice) {
    const Shard* last = nullptr;
    for (const Shard& shard : stage.shards) {
      if (shard.start.slice != slice) continue;
      if (last == nullptr || last->start.at <= shard.start.at) last = &shard;
    }
    return last != nullptr && ended_by_window(*last);
  });
}

}  // namespace slurmtune
