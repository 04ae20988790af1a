// SPDX-License-Identifier: MIT
#include "slurmtune/study/decide_submit.hpp"

#include <algorithm>
#include <chrono>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "slurmtune/study/spending.hpp"
#include "slurmtune/study/task_time.hpp"

namespace slurmtune {

namespace {

/// An intent younger than this may still be completed by whoever made it (formats.md, section 5).
constexpr std::chrono::seconds intent_grace{120};
/// Arrays that run one slice before its losses are left to later stages.
constexpr std::int64_t slice_attempts_max = 3;

const JobRecord* live_job(const StudyView& view, const StageName& stage, JobKind kind) {
  for (const JobRecord* job : view.state.jobs_of(stage, kind)) {
    if (view.is_live(*job)) return job;
  }
  return nullptr;
}

/// Numbers of the jobs of one stage and kind that run or will run: what another may wait for. One
/// that is over may be purged, and is named no more.
std::vector<std::int64_t> live_jobs_of(const StudyView& view, const StageName& stage,
                                       JobKind kind) {
  std::vector<std::int64_t> live;
  for (const JobRecord* job : view.state.jobs_of(stage, kind)) {
    if (view.is_live(*job)) live.push_back(*job->job);
  }
  return live;
}

SubmitJob single_job(const StudyView& view, const StageName& stage, JobKind kind,
                     std::vector<std::int64_t> after) {
  return {.stage = stage,
          .kind = kind,
          .attempt = view.state.next_attempt(stage, kind),
          .first_slice = 0,
          .tasks = std::nullopt,
          .after_any = std::move(after)};
}

// --- Slices and the arrays that run them ---

/// True if a task of that array is for this slice, and was not cut off.
bool covers(const StudyView& view, const JobRecord& array, std::int64_t slice) {
  const std::int64_t task = slice - array.first_slice;
  if (task < 0 || task >= array.tasks.value_or(1)) return false;
  return std::none_of(
      view.state.dropped.begin(), view.state.dropped.end(),
      [&](const auto& dropped) { return dropped.first == array.job && dropped.second <= task; });
}

/// Slices that an array runs or will run.
std::set<std::int64_t> slices_of_live(const StudyView& view,
                                      const std::vector<const JobRecord*>& arrays) {
  std::set<std::int64_t> slices;
  for (const JobRecord* array : arrays) {
    if (!view.is_live(*array)) continue;
    const std::int64_t end = array->first_slice + array->tasks.value_or(1);
    for (std::int64_t slice = array->first_slice; slice < end; ++slice) {
      if (covers(view, *array, slice)) slices.insert(slice);
    }
  }
  return slices;
}

/// True if a task ended only because its time was over before its work, and more time follows.
bool is_cut_off(const StudyView& view, const Shard& shard) {
  if (!shard.end) return false;
  if (ended_by_window(shard)) return true;
  // The jobs of a chain are bounded in number.
  return view.state.created.submit == "one-job" && shard.end->reason != "done";
}

std::int64_t attempts_at(const StudyView& view, const StageView& stage,
                         const std::vector<const JobRecord*>& arrays, std::int64_t slice) {
  return std::count_if(arrays.begin(), arrays.end(), [&](const JobRecord* array) {
    // One that the controller forgot may never have begun, or was cancelled with the study.
    const bool never_ran = array->lost || array->gone;
    if (never_ran || !covers(view, *array, slice)) return false;
    return std::none_of(stage.shards.begin(), stage.shards.end(), [&](const Shard& shard) {
      return shard.start.slice == slice && shard.start.array_job == array->job &&
             is_cut_off(view, shard);
    });
  });
}

/// Of slices that ran before, leaves those that the budget holds once more: what was released was
/// reserved for one time.
void keep_affordable(const StudyView& view, std::size_t stage,
                     const std::vector<const JobRecord*>& arrays,
                     const std::set<std::int64_t>& live, std::vector<std::int64_t>& missing) {
  const auto ran = [&](std::int64_t slice) {
    return std::any_of(arrays.begin(), arrays.end(),
                       [&](const JobRecord* array) { return covers(view, *array, slice); });
  };
  const auto within = tasks_within_budget(view, stage);
  if (!within || std::none_of(missing.begin(), missing.end(), ran)) return;
  const auto open = open_slices(view.stages[stage]);
  std::int64_t left = *within;
  for (const std::int64_t slice : open) {
    const bool is_missing = std::binary_search(missing.begin(), missing.end(), slice);
    if (is_missing ? !ran(slice) : live.contains(slice)) left -= 1;
  }
  std::erase_if(missing, [&](std::int64_t slice) { return ran(slice) && --left < 0; });
}

/// The array that a stage lacks next, if it lacks one: from the first slice that is missing, as
/// many as one array may have, up to the next one that another array runs.
std::optional<SubmitJob> missing_array(const StudyView& view, std::size_t stage) {
  const PlannedStage& planned = view.plan.stages[stage];
  const auto missing = missing_slices(view, stage);
  if (missing.empty()) return std::nullopt;
  const auto live = slices_of_live(view, view.state.jobs_of(planned.name, JobKind::array));
  const std::int64_t first = missing.front();
  const std::int64_t tasks_max =
      view.plan.array_tasks_max > 0 ? view.plan.array_tasks_max : planned.tasks_max;
  std::int64_t end = first + 1;
  for (std::int64_t slice = end; slice < first + tasks_max && slice <= missing.back(); ++slice) {
    if (live.contains(slice)) break;
    if (std::binary_search(missing.begin(), missing.end(), slice)) end = slice + 1;
  }
  SubmitJob array = single_job(view, planned.name, JobKind::array, {});
  array.first_slice = first;
  array.tasks = end - first;
  return array;
}

/// What the next array of a stage waits for: `before`, or where no more tasks may run at once than
/// one array's throttle allows, the arrays before it.
std::vector<std::int64_t> array_waits_for(const StudyView& view, const PlannedStage& stage,
                                          std::vector<std::int64_t> before) {
  if (stage.tasks_at_once >= stage.tasks_max) return before;
  auto arrays = live_jobs_of(view, stage.name, JobKind::array);
  return arrays.empty() ? std::move(before) : arrays;
}

// --- Ways of submitting ---

std::optional<SubmitJob> missing_guard(const StudyView& view) {
  if (!view.state.deadline || view.deadline_passed) return std::nullopt;
  if (live_job(view, {}, JobKind::guard) != nullptr) return std::nullopt;
  return single_job(view, {}, JobKind::guard, {});
}

/// A controller that was killed gives the numbers of jobs away again that it forgot. What was
/// submitted to wait for such a job waits for the new one of that number, which may itself wait for
/// it: neither would ever begin. So all that was submitted from the forgotten job up to the one
/// that has its number goes, and is submitted anew.
/// Names the last of them, so that none that waits for another begins meanwhile.
const JobRecord* behind_a_reused_number(const StudyView& view) {
  const auto& jobs = view.state.jobs;
  for (auto reused = jobs.rbegin(); reused != jobs.rend(); ++reused) {
    const auto forgotten = std::find_if(reused + 1, jobs.rend(), [&](const JobRecord& job) {
      return job.job && job.job == reused->job;
    });
    if (forgotten == jobs.rend()) continue;
    const auto waits = std::find_if(reused, forgotten, [&](const JobRecord& job) {
      return job.kind != JobKind::guard && job.job != view.own_job && view.is_live(job);
    });
    if (waits != forgotten) return &*waits;
  }
  return nullptr;
}

Step submit_graph(const StudyView& view) {
  if (const JobRecord* job = behind_a_reused_number(view)) return act(CancelJob{*job->job});
  std::vector<std::int64_t> after;  // what the next job in the chain waits for
  for (std::size_t i = current_stage(view); i < view.stages.size(); ++i) {
    const PlannedStage& stage = view.plan.stages[i];
    const JobRecord* reducer = live_job(view, stage.name, JobKind::reducer);
    // It waits for the arrays that were there before it, and concludes the stage without others.
    if (reducer == nullptr) {
      if (auto array = missing_array(view, i)) {
        array->after_any = array_waits_for(view, stage, after);
        return act(*std::move(array));
      }
      const auto arrays = live_jobs_of(view, stage.name, JobKind::array);
      return act(single_job(view, stage.name, JobKind::reducer, arrays.empty() ? after : arrays));
    }
    after = {*reducer->job};
  }
  const JobRecord* final_job = live_job(view, {}, JobKind::final);
  if (final_job == nullptr) return act(single_job(view, {}, JobKind::final, after));
  // Where another job follows, that one has all of its time for the training.
  if (view.plan.launch && !view.time_follows && live_job(view, {}, JobKind::launch) == nullptr) {
    return act(single_job(view, {}, JobKind::launch, {*final_job->job}));
  }
  return nothing();
}

/// The reducers that wait for all live arrays of the current stage, oldest first: those that were
/// submitted after the last of them, but for the one that this process is.
std::vector<const JobRecord*> waiting_reducers(const StudyView& view, const StageName& stage) {
  std::vector<const JobRecord*> waiting;
  for (const JobRecord& job : view.state.jobs) {
    if (job.stage != stage || !view.is_live(job)) continue;
    if (job.kind == JobKind::array) waiting.clear();
    if (job.kind == JobKind::reducer && job.job != view.own_job) waiting.push_back(&job);
  }
  return waiting;
}

Step submit_step(const StudyView& view) {
  const std::size_t current = current_stage(view);
  if (current >= view.stages.size() || !view.stages[current].manifest) return nothing();
  const PlannedStage& stage = view.plan.stages[current];
  if (auto array = missing_array(view, current)) {
    array->after_any = array_waits_for(view, stage, {});
    return act(*std::move(array));
  }
  auto arrays = live_jobs_of(view, stage.name, JobKind::array);
  if (arrays.empty()) return nothing();  // whoever reduces goes on
  const auto reducers = waiting_reducers(view, stage.name);
  if (reducers.empty()) {
    return act(single_job(view, stage.name, JobKind::reducer, std::move(arrays)));
  }
  if (reducers.size() == 1) {
    return act(single_job(view, stage.name, JobKind::reducer, {*reducers.front()->job}));
  }
  for (const JobRecord& job : view.state.jobs) {
    const bool leftover = job.kind == JobKind::reducer && view.is_live(job) &&
                          job.job != view.own_job &&
                          std::find(reducers.begin(), reducers.end(), &job) == reducers.end();
    if (leftover) return act(CancelJob{*job.job});
  }
  return nothing();
}

}  // namespace

bool any_live(const StudyView& view, const std::vector<const JobRecord*>& jobs) {
  return std::any_of(jobs.begin(), jobs.end(),
                     [&](const JobRecord* job) { return view.is_live(*job); });
}

Step settle_intent(const StudyView& view, Instant now, Meanwhile meanwhile) {
  const JobRecord* intent = view.state.open_intent();
  if (intent == nullptr) return nothing();
  if (!view.submitter_is_dead && now - intent->intended_at < intent_grace) {
    if (meanwhile == Meanwhile::wait) return act(AwaitSubmitter{intent->name});
    return unavailable(fmt::format(
        "{} is submitting {} since {}; wait until it is done, or try again in {} s", intent->by,
        intent->name, format_instant(intent->intended_at), intent_grace.count()));
  }
  return act(LookUpJob{intent->name});
}

Step trim(const StudyView& view, std::size_t decided, std::size_t next) {
  // A task that is held, or was requeued since, has nothing to add, and its reducer waits for it.
  for (const JobRecord* job : view.state.jobs_of(view.plan.stages[decided].name, JobKind::array)) {
    if (view.is_live(*job) && job->job != view.own_job) return act(CancelJob{*job->job});
  }
  for (std::size_t i = decided + 1; i <= next && i < view.stages.size(); ++i) {
    const StageName& name = view.plan.stages[i].name;
    const std::int64_t needed =
        i == next ? static_cast<std::int64_t>(view.stages[i].manifest->slices.size()) : 0;
    for (const JobRecord* job : view.state.jobs_of(name, JobKind::array)) {
      const std::int64_t tasks = job->tasks.value_or(1);
      const std::int64_t first = std::max<std::int64_t>(0, needed - job->first_slice);
      if (first >= tasks || !view.is_live(*job)) continue;
      // Our own array ends by itself: its tasks find their slices empty.
      if (first == 0 && job->job == view.own_job) continue;
      if (view.state.dropped.contains({*job->job, first})) continue;
      return act(DropTasks{name, *job->job, first, tasks});
    }
    // The reducer of a skipped stage has nothing to do, but it may be what runs now.
    if (i == next) continue;
    for (const JobRecord* job : view.state.jobs_of(name, JobKind::reducer)) {
      if (view.is_live(*job) && job->job != view.own_job) return act(CancelJob{*job->job});
    }
  }
  return nothing();
}

Step submit_missing(const StudyView& view) {
  if (!view.live_jobs) return unavailable("the batch system cannot be asked for its jobs");
  if (auto guard = missing_guard(view)) return act(*std::move(guard));
  return view.state.goes_by_steps() ? submit_step(view) : submit_graph(view);
}

std::vector<std::int64_t> missing_slices(const StudyView& view, std::size_t stage) {
  const PlannedStage& planned = view.plan.stages[stage];
  const StageView& files = view.stages[stage];
  const auto arrays = view.state.jobs_of(planned.name, JobKind::array);
  std::vector<std::int64_t> slices;
  if (files.manifest) {
    slices = open_slices(files);
    std::erase_if(slices, [&](std::int64_t slice) {
      return attempts_at(view, files, arrays, slice) >= slice_attempts_max;
    });
  } else {
    slices.resize(static_cast<std::size_t>(planned.tasks_max));
    std::iota(slices.begin(), slices.end(), 0);
  }
  const auto live = slices_of_live(view, arrays);
  std::erase_if(slices, [&](std::int64_t slice) { return live.contains(slice); });
  if (files.manifest) keep_affordable(view, stage, arrays, live, slices);
  return slices;
}

bool is_cut_short(const StudyView& view, std::size_t stage) {
  const StageView& files = view.stages[stage];
  const auto open = open_slices(files);
  return std::any_of(files.shards.begin(), files.shards.end(), [&](const Shard& shard) {
    return is_cut_off(view, shard) &&
           std::binary_search(open.begin(), open.end(), shard.start.slice);
  });
}

bool is_given_up(const StudyView& view, std::size_t stage) {
  return view.live_jobs && missing_slices(view, stage).empty() &&
         live_job(view, view.plan.stages[stage].name, JobKind::array) == nullptr;
}

Step submit_training(const StudyView& view, Instant now, Meanwhile meanwhile) {
  if (!wants_training(view.plan, view.state) || view.state.training) return nothing();
  if (view.time_follows) return nothing();
  if (!view.live_jobs) return unavailable("the batch system cannot be asked for its jobs");
  SLURMTUNE_TRY(auto unsettled, settle_intent(view, now, meanwhile));
  if (unsettled) return act(*std::move(unsettled));
  if (live_job(view, {}, JobKind::launch) != nullptr) return nothing();
  return act(single_job(view, {}, JobKind::launch, {}));
}

}  // namespace slurmtune
