// SPDX-License-Identifier: MIT
#include "slurmtune/study/decide_submit.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/core.h>

namespace slurmtune {

namespace {

/// An intent younger than this may still be completed by whoever made it (formats.md, section 5).
constexpr std::chrono::seconds intent_grace{120};
/// Arrays of one stage that are submitted before its losses are left to later stages.
constexpr int array_attempts_max = 3;

const JobRecord* live_job(const StudyView& view, const StageName& stage, JobKind kind) {
  for (const JobRecord* job : view.state.jobs_of(stage, kind)) {
    if (view.is_live(*job)) return job;
  }
  return nullptr;
}

/// The array that a stage lacks, if it lacks one.
std::optional<SubmitJob> missing_array(const StudyView& view, std::size_t stage) {
  const PlannedStage& planned = view.plan.stages[stage];
  const auto jobs = view.state.jobs_of(planned.name, JobKind::array);
  if (any_live(view, jobs)) return std::nullopt;
  const int attempt = view.state.next_attempt(planned.name, JobKind::array);
  SubmitJob submit{.stage = planned.name,
                   .kind = JobKind::array,
                   .attempt = attempt,
                   .first_slice = 0,
                   .tasks = planned.tasks_max,
                   .after_any = {}};
  if (view.stages[stage].manifest) {
    const auto open = open_slices(view.stages[stage]);
    if (open.empty() || attempt >= array_attempts_max) return std::nullopt;
    submit.first_slice = open.front();
    submit.tasks = open.back() - open.front() + 1;
  }
  return submit;
}

}  // namespace

bool any_live(const StudyView& view, const std::vector<const JobRecord*>& jobs) {
  return std::any_of(jobs.begin(), jobs.end(),
                     [&](const JobRecord* job) { return view.is_live(*job); });
}

Step settle_intent(const StudyView& view, Instant now) {
  const JobRecord* intent = view.state.open_intent();
  if (intent == nullptr) return nothing();
  if (!view.submitter_is_dead && now - intent->intended_at < intent_grace) {
    return unavailable(fmt::format(
        "{} is submitting {} since {}; wait until it is done, or try again in {} s", intent->by,
        intent->name, format_instant(intent->intended_at), intent_grace.count()));
  }
  return act(LookUpJob{intent->name});
}

Step trim(const StudyView& view, std::size_t decided, std::size_t next) {
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
  const StageName none;
  const auto single = [&](const StageName& stage, JobKind kind, std::vector<std::int64_t> after) {
    return act(SubmitJob{.stage = stage,
                         .kind = kind,
                         .attempt = view.state.next_attempt(stage, kind),
                         .first_slice = 0,
                         .tasks = std::nullopt,
                         .after_any = std::move(after)});
  };
  if (view.state.created.deadline && live_job(view, none, JobKind::guard) == nullptr &&
      !view.deadline_near) {
    return single(none, JobKind::guard, {});
  }
  std::vector<std::int64_t> after;  // what the next job in the chain waits for
  for (std::size_t i = current_stage(view); i < view.stages.size(); ++i) {
    const StageName& name = view.plan.stages[i].name;
    if (auto array = missing_array(view, i)) {
      array->after_any = after;
      return act(*std::move(array));
    }
    if (const JobRecord* array = live_job(view, name, JobKind::array)) after = {*array->job};
    const JobRecord* reducer = live_job(view, name, JobKind::reducer);
    if (reducer == nullptr) return single(name, JobKind::reducer, after);
    after = {*reducer->job};
  }
  const JobRecord* final_job = live_job(view, none, JobKind::final);
  if (final_job == nullptr) return single(none, JobKind::final, after);
  if (view.plan.launch && live_job(view, none, JobKind::launch) == nullptr) {
    return single(none, JobKind::launch, {*final_job->job});
  }
  return nothing();
}

bool is_given_up(const StudyView& view, std::size_t stage) {
  return view.live_jobs && !missing_array(view, stage) &&
         live_job(view, view.plan.stages[stage].name, JobKind::array) == nullptr;
}

Step submit_training(const StudyView& view, Instant now) {
  if (!wants_training(view.plan, view.state) || view.state.training) return nothing();
  if (!view.live_jobs) return unavailable("the batch system cannot be asked for its jobs");
  SLURMTUNE_TRY(auto unsettled, settle_intent(view, now));
  if (unsettled) return act(*std::move(unsettled));
  const StageName none;
  if (live_job(view, none, JobKind::launch) != nullptr) return nothing();
  return act(SubmitJob{.stage = none,
                       .kind = JobKind::launch,
                       .attempt = view.state.next_attempt(none, JobKind::launch),
                       .first_slice = 0,
                       .tasks = std::nullopt,
                       .after_any = {}});
}

}  // namespace slurmtune
