// SPDX-License-Identifier: MIT
#include "slurmtune/study/decide.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/core.h>

namespace slurmtune {

namespace {

/// An intent younger than this may still be completed by whoever made it (formats.md, section 5).
constexpr std::chrono::seconds intent_grace{120};
/// Arrays of one stage that are submitted before its losses are left to later stages.
constexpr int array_attempts_max = 3;

using Step = Expected<std::optional<Action>>;

Step act(Action action) { return std::optional<Action>(std::move(action)); }
Step nothing() { return std::optional<Action>(); }

bool any_live(const StudyView& view, const std::vector<const JobRecord*>& jobs) {
  return std::any_of(jobs.begin(), jobs.end(),
                     [&](const JobRecord* job) { return view.is_live(*job); });
}

const JobRecord* live_job(const StudyView& view, const StageName& stage, JobKind kind) {
  for (const JobRecord* job : view.state.jobs_of(stage, kind)) {
    if (view.is_live(*job)) return job;
  }
  return nullptr;
}

// --- Submissions that were begun ---

/// An intent without an answer is completed before anything else is submitted.
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

// --- What a decision entails ---

/// Tasks of a released stage beyond its slices, and whole arrays of stages that were skipped.
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

/// Completes, in order, what the decisions on disk entail: journal, manifest, trimming.
Step complete_decisions(const StudyView& view) {
  for (std::size_t i = 0; i < view.stages.size(); ++i) {
    const auto& decision = view.stages[i].decision;
    if (!decision) continue;
    if (!view.state.decided.contains(view.plan.stages[i].name)) return act(RecordDecision{i});
    if (decision->next.action == NextAction::finish) {
      if (!view.state.finished) return act(FinishStudy{.decided = i, .stop = Stop::gain});
      continue;
    }
    const auto next = view.plan.index_of(decision->next.stage);
    if (!next || *next <= i) {
      return corrupt_data(fmt::format("the decision of {} names {} next, which is not after it",
                                      view.plan.stages[i].name.text, decision->next.stage.text));
    }
    if (!view.stages[*next].manifest ||
        !view.state.released.contains(view.plan.stages[*next].name)) {
      return act(ReleaseStage{.decided = i, .stage = *next});
    }
    SLURMTUNE_TRY(auto trimming, trim(view, i, *next));
    if (trimming) return act(*std::move(trimming));
  }
  return nothing();
}

/// Jobs that a finished study leaves behind. The training, where there is one, is no leftover.
Step cancel_leftovers(const StudyView& view) {
  for (const JobRecord& job : view.state.jobs) {
    if (job.kind == JobKind::launch && wants_training(view.plan, view.state)) continue;
    if (view.is_live(job) && job.job != view.own_job) return act(CancelJob{*job.job});
  }
  return nothing();
}

// --- Reducing ---

/// Reduces the current stage if its tasks have ended.
Step reduce_current(const StudyView& view, std::size_t stage) {
  const StageView& files = view.stages[stage];
  const StageName& name = view.plan.stages[stage].name;
  if (!files.manifest) {
    return corrupt_data(fmt::format("{} should run, but it has no manifest", name.text));
  }
  const auto open = open_slices(files);
  if (open.empty()) return act(ReduceStage{stage});
  if (!view.live_jobs) {
    return unavailable(fmt::format(
        "{}: {} of {} tasks have not reported, and the batch system cannot be asked about them",
        name.text, open.size(), files.manifest->slices.size()));
  }
  if (any_live(view, view.state.jobs_of(name, JobKind::array))) {
    return unavailable(fmt::format("{}: {} of {} tasks are still running or waiting", name.text,
                                   open.size(), files.manifest->slices.size()));
  }
  if (!view.settled) return act(AwaitShards{stage});
  return act(ReduceStage{stage});
}

Step reduce_up_to(const StudyView& view, std::size_t last) {
  const std::size_t current = current_stage(view);
  if (current > last || current >= view.stages.size()) return nothing();
  return reduce_current(view, current);
}

// --- Submitting ---

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

/// The next job of the graph that is neither there nor over with its work done, in order:
/// guard, then array and reducer of each stage from the current one, then final.
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

/// The training's job where it is lost before it began: of a study that is finished.
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

// --- Roles ---

Step finish_all(const StudyView& view) {
  const std::size_t current = current_stage(view);
  if (current >= view.stages.size()) return nothing();
  return reduce_current(view, current);
}

Step resume(const StudyView& view) {
  const std::size_t current = current_stage(view);
  if (current >= view.stages.size()) return nothing();
  // A stage whose tasks all ended is concluded here and now; else its lost tasks are run again.
  const bool complete = view.stages[current].manifest && open_slices(view.stages[current]).empty();
  const bool given_up = view.live_jobs && !missing_array(view, current) &&
                        live_job(view, view.plan.stages[current].name, JobKind::array) == nullptr;
  if (complete || given_up) return reduce_current(view, current);
  return submit_missing(view);
}

Step cancel_all(const StudyView& view) {
  if (!view.state.cancelled) return act(RecordCancelled{});
  SLURMTUNE_TRY(auto leftover, cancel_leftovers(view));
  if (leftover) return act(*std::move(leftover));
  return act(FinishStudy{.decided = std::nullopt, .stop = Stop::cancelled});
}

}  // namespace

bool wants_training(const Plan& plan, const StudyState& state) {
  return plan.launch && !state.cancelled && state.finished && state.finished->best;
}

Expected<std::optional<Action>> decide(const StudyView& view, const Intent& intent, Instant now) {
  if (view.state.finished) {
    if (intent.role == Role::cancel && wants_training(view.plan, view.state))
      return act(RecordCancelled{});
    SLURMTUNE_TRY(auto leftover, cancel_leftovers(view));
    if (leftover) return act(*std::move(leftover));
    const bool submits = intent.role == Role::submit || intent.role == Role::resume;
    return submits ? submit_training(view, now) : nothing();
  }
  if (view.state.cancelled || intent.role == Role::cancel) return cancel_all(view);
  if (intent.role == Role::guard) {
    return act(FinishStudy{.decided = std::nullopt, .stop = Stop::deadline});
  }
  SLURMTUNE_TRY(auto entailed, complete_decisions(view));
  if (entailed) return act(*std::move(entailed));
  switch (intent.role) {
    case Role::reduce: return reduce_up_to(view, intent.stage);
    case Role::finish: return finish_all(view);
    case Role::submit:
    case Role::resume: {
      SLURMTUNE_TRY(auto unsettled, settle_intent(view, now));
      if (unsettled) return act(*std::move(unsettled));
      return intent.role == Role::submit ? submit_missing(view) : resume(view);
    }
    case Role::guard:
    case Role::cancel: break;
  }
  SLURMTUNE_ASSERT(false);
  return nothing();
}

}  // namespace slurmtune
