// SPDX-License-Identifier: MIT
#include "slurmtune/study/decide.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "slurmtune/study/decide_submit.hpp"
#include "slurmtune/study/node_faults.hpp"
#include "slurmtune/study/task_time.hpp"

namespace slurmtune {

namespace {

/// Clocks of nodes and of the controller may differ by so much.
constexpr std::chrono::minutes clock_difference{5};

// --- What a decision entails ---

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
/// By steps a job may be at a submission: cancelled in the middle of it, it would leave one behind
/// that nobody knows.
Step cancel_leftovers(const StudyView& view, Instant now) {
  if (view.state.goes_by_steps()) {
    SLURMTUNE_TRY(auto unsettled, settle_intent(view, now, Meanwhile::wait));
    if (unsettled) return act(*std::move(unsettled));
  }
  for (const JobRecord& job : view.state.jobs) {
    if (job.kind == JobKind::launch && wants_training(view.plan, view.state)) continue;
    if (view.is_live(job) && job.job != view.own_job) return act(CancelJob{*job.job});
  }
  return nothing();
}

// --- Reducing ---

/// What has to be in the journal before a stage is concluded: how its tasks ended, and which nodes
/// are left out from now on.
Step conclude(const StudyView& view, std::size_t stage) {
  NewEndings ended = new_endings(view, stage);
  if (!ended.tasks.empty()) {
    return act(RecordEndings{view.plan.stages[stage].name, ended.job, std::move(ended.tasks)});
  }
  ExcludeNodes exclude;
  for (const FaultyNode& faulty : nodes_to_exclude(view)) {
    exclude.nodes.push_back(faulty.node);
    exclude.why += fmt::format("{}{}: {}", exclude.why.empty() ? "" : "; ", faulty.node,
                               fmt::join(faulty.faults, ", "));
  }
  if (!exclude.nodes.empty()) return act(std::move(exclude));
  return act(ReduceStage{stage});
}

/// Reduces the current stage if its tasks have ended.
Step reduce_current(const StudyView& view, std::size_t stage) {
  const StageView& files = view.stages[stage];
  const StageName& name = view.plan.stages[stage].name;
  if (!files.manifest) {
    return corrupt_data(fmt::format("{} should run, but it has no manifest", name.text));
  }
  const auto open = open_slices(files);
  if (open.empty()) return conclude(view, stage);
  if (!view.live_jobs) {
    return unavailable(fmt::format(
        "{}: {} of {} tasks have not reported, and the batch system cannot be asked about them",
        name.text, open.size(), files.manifest->slices.size()));
  }
  if (any_live(view, view.state.jobs_of(name, JobKind::array))) {
    return unavailable(fmt::format("{}: {} of {} tasks are still running or waiting", name.text,
                                   open.size(), files.manifest->slices.size()));
  }
  if (view.time_follows && is_cut_short(view, stage)) {
    return unavailable(
        fmt::format("{}: the time of this job is over for {} of {} tasks; the next "
                    "job of the study goes on with them",
                    name.text, open.size(), files.manifest->slices.size()));
  }
  if (!view.settled) return act(AwaitShards{stage});
  return conclude(view, stage);
}

/// True if what is left of a stage is to be run in the next window, by jobs that `resume` submits.
bool waits_for_window(const StudyView& view, std::size_t stage) {
  return view.state.created.window && !view.deadline_near && view.live_jobs &&
         is_cut_by_window(view.stages[stage]) && !is_given_up(view, stage) &&
         !any_live(view, view.state.jobs_of(view.plan.stages[stage].name, JobKind::array));
}

Step reduce_up_to(const StudyView& view, std::size_t last) {
  const std::size_t current = current_stage(view);
  if (current > last || current >= view.stages.size()) return nothing();
  if (waits_for_window(view, current)) return nothing();
  return reduce_current(view, current);
}

/// Of a study that goes by steps: concludes the current stage, runs again what it has lost, and
/// gets the next one submitted.
Step go_by_steps(const StudyView& view, Instant now) {
  const std::size_t current = current_stage(view);
  if (current >= view.stages.size()) return nothing();
  const StageView& files = view.stages[current];
  const auto arrays = view.state.jobs_of(view.plan.stages[current].name, JobKind::array);
  const bool complete = files.manifest && open_slices(files).empty();
  const bool may_have_shards = !arrays.empty() && !any_live(view, arrays) && !view.settled;
  if (complete || may_have_shards || is_given_up(view, current)) {
    return reduce_current(view, current);
  }
  SLURMTUNE_TRY(auto unsettled, settle_intent(view, now, Meanwhile::wait));
  if (unsettled) return act(*std::move(unsettled));
  return submit_missing(view);
}

// --- Roles ---

Step finish_all(const StudyView& view) {
  const std::size_t current = current_stage(view);
  if (current >= view.stages.size()) return nothing();
  if (waits_for_window(view, current)) return view.reported ? nothing() : act(ReportSoFar{});
  return reduce_current(view, current);
}

/// A guard that was submitted for another deadline goes, and one for this deadline comes.
Step renew_guard(const StudyView& view, Instant now) {
  if (!view.live_jobs) return unavailable("the batch system cannot be asked for its jobs");
  if (view.state.starter() != JobStarter::batch_system || !view.state.deadline) return nothing();
  bool any = false;
  for (const JobRecord* job : view.state.jobs_of({}, JobKind::guard)) {
    if (!view.is_live(*job) || job->job == view.own_job) continue;
    if (job->intended_at < view.state.deadline_since) return act(CancelJob{*job->job});
    any = true;
  }
  if (any || view.live_jobs->empty()) return nothing();
  SLURMTUNE_TRY(auto unsettled, settle_intent(view, now, Meanwhile::leave));
  if (unsettled) return act(*std::move(unsettled));
  return act(SubmitJob{.stage = {},
                       .kind = JobKind::guard,
                       .attempt = view.state.next_attempt({}, JobKind::guard),
                       .first_slice = 0,
                       .tasks = std::nullopt,
                       .after_any = {}});
}

/// What Slurm could not launch waits for an administrator, and all that comes after waits for it.
/// Cancelled, it is as lost as any other job.
Step drop_held(const StudyView& view) {
  if (view.held_jobs.empty()) return nothing();
  return act(CancelJob{*view.held_jobs.begin()});
}

Step resume(const StudyView& view) {
  SLURMTUNE_TRY(auto held, drop_held(view));
  if (held) return act(*std::move(held));
  const std::size_t current = current_stage(view);
  if (current >= view.stages.size()) return nothing();
  // A stage whose tasks all ended is concluded here and now; else its lost tasks are run again.
  const bool complete = view.stages[current].manifest && open_slices(view.stages[current]).empty();
  if (complete || is_given_up(view, current)) return reduce_current(view, current);
  return submit_missing(view);
}

Step cancel_all(const StudyView& view, Instant now) {
  if (!view.state.cancelled) return act(RecordCancelled{});
  if (!view.live_jobs) {
    return unavailable(
        "the batch system cannot be asked for the study's jobs, which may run on: cancel the study "
        "again once it answers");
  }
  SLURMTUNE_TRY(auto leftover, cancel_leftovers(view, now));
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
    SLURMTUNE_TRY(auto leftover, cancel_leftovers(view, now));
    if (leftover) return act(*std::move(leftover));
    const bool by_user = intent.role == Role::submit || intent.role == Role::resume;
    if (by_user) return submit_training(view, now, Meanwhile::leave);
    // Where each job submits the next, nobody else would.
    return view.state.goes_by_steps() ? submit_training(view, now, Meanwhile::wait) : nothing();
  }
  if (view.state.cancelled || intent.role == Role::cancel) return cancel_all(view, now);
  if (intent.role == Role::extend) return renew_guard(view, now);
  if (intent.role == Role::guard) {
    // It was submitted for a deadline that was put off since.
    if (view.state.deadline && now + clock_difference < *view.state.deadline - guard_margin &&
        view.state.deadline_since != Instant()) {
      return nothing();
    }
    return act(FinishStudy{.decided = std::nullopt, .stop = Stop::deadline});
  }
  SLURMTUNE_TRY(auto entailed, complete_decisions(view));
  if (entailed) return act(*std::move(entailed));
  const bool is_job = intent.role == Role::reduce || intent.role == Role::finish;
  if (is_job && view.state.goes_by_steps()) return go_by_steps(view, now);
  switch (intent.role) {
    case Role::reduce: return reduce_up_to(view, intent.stage);
    case Role::finish: return finish_all(view);
    case Role::submit:
    case Role::resume: {
      SLURMTUNE_TRY(auto unsettled, settle_intent(view, now, Meanwhile::leave));
      if (unsettled) return act(*std::move(unsettled));
      return intent.role == Role::submit ? submit_missing(view) : resume(view);
    }
    case Role::guard:
    case Role::cancel:
    case Role::extend: break;
  }
  SLURMTUNE_ASSERT(false);
  return nothing();
}

}  // namespace slurmtune
