// SPDX-License-Identifier: MIT
#include "slurmtune/study/state.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace slurmtune {

namespace {

JobRecord& job_named(StudyState& state, const std::string& name) {
  const auto found = std::find_if(state.jobs.begin(), state.jobs.end(),
                                  [&](const JobRecord& job) { return job.name == name; });
  if (found != state.jobs.end()) return *found;
  JobRecord& job = state.jobs.emplace_back();
  job.name = name;
  return job;
}

/// Applies one event; each overload moves only what its event is about.
struct Fold {
  StudyState& state;
  StageName& last_decided;
  Instant at;

  void operator()(const StudyCreated& event) const {
    state.created = event;
    state.created_at = at;
    state.deadline = event.deadline;
  }
  void operator()(const PlanMade& /*event*/) const {}
  void operator()(const SubmitIntended& event) const {
    JobRecord& job = job_named(state, event.name);
    job.stage = event.stage;
    job.kind = event.kind;
    job.attempt = event.attempt;
    job.first_slice = event.first_slice;
    job.tasks = event.tasks;
    job.by = event.by;
    job.intended_at = at;
    job.lost = false;
  }
  void operator()(const Submitted& event) const {
    // A controller that was killed may forget its newest jobs and give their numbers away again.
    for (JobRecord& other : state.jobs) {
      if (other.job != event.job || other.name == event.name) continue;
      other.lost = true;
      std::erase_if(state.dropped, [&](const auto& tasks) { return tasks.first == event.job; });
    }
    JobRecord& job = job_named(state, event.name);
    job.stage = event.stage;
    job.kind = event.kind;
    job.attempt = event.attempt;
    job.first_slice = event.first_slice;
    job.tasks = event.tasks;
    job.job = event.job;
    job.lost = false;
  }
  void operator()(const SubmitLost& event) const { job_named(state, event.name).lost = true; }
  void operator()(const Decided& event) const {
    state.decided.insert(event.stage);
    last_decided = event.stage;
  }
  void operator()(const Released& event) const { state.released[event.stage] = event.slices; }
  void operator()(const SlicesDropped& event) const {
    state.dropped.insert({event.job, event.first});
  }
  void operator()(const TasksEnded& event) const {
    for (const EndedTask& task : event.tasks) state.ended_tasks[{event.job, task.task}] = task;
  }
  void operator()(const NodesExcluded& event) const {
    state.excluded_nodes.insert(event.nodes.begin(), event.nodes.end());
  }
  void operator()(const Cancelled& /*event*/) const { state.cancelled = true; }
  void operator()(const Extended& event) const {
    Extended& known = state.extension;
    if (event.max_node_hours) known.max_node_hours = event.max_node_hours;
    if (event.max_gpu_hours) known.max_gpu_hours = event.max_gpu_hours;
    if (event.max_experiments) known.max_experiments = event.max_experiments;
    if (event.deadline) {
      known.deadline = event.deadline;
      state.deadline = event.deadline;
      state.deadline_since = at;
    }
    if (state.finished && may_be_extended(*state.finished)) reopen();
  }
  void operator()(const Resumed& /*event*/) const {}
  void operator()(const Finished& event) const { state.finished = event; }
  void operator()(const Retried& event) const {
    state.retried.insert(event.tries.begin(), event.tries.end());
    if (event.reopens.empty()) return;
    state.reopened[event.reopens] = event.next;
    state.finished.reset();
  }
  void operator()(const TrainingStarted& event) const {
    state.training = TrainingRecord{.job = event.job, .started = at, .ended = {}, .exit_code = 0};
  }
  void operator()(const TrainingEnded& event) const {
    if (!state.training) return;
    state.training->ended = at;
    state.training->exit_code = event.exit_code;
  }

  /// Takes the end back: the decision for it, if there was one, is to be made again, and the jobs
  /// that were there are not.
  void reopen() const {
    state.finished.reset();
    state.ends_taken_back += 1;
    state.decided.erase(last_decided);
    for (JobRecord& job : state.jobs) job.gone = true;
  }
};

}  // namespace

bool may_be_extended(const Finished& finished) {
  return finished.stop == Stop::budget || finished.stop == Stop::deadline;
}

JobStarter StudyState::starter() const {
  for (const std::string_view mode : {"local", "allocation", "one-job"}) {
    if (created.submit == mode) return JobStarter::foreground;
  }
  return JobStarter::batch_system;
}

std::vector<const JobRecord*> StudyState::jobs_of(const StageName& stage, JobKind kind) const {
  std::vector<const JobRecord*> found;
  for (const JobRecord& job : jobs) {
    if (job.stage == stage && job.kind == kind && job.job) found.push_back(&job);
  }
  return found;
}

const JobRecord* StudyState::open_intent() const {
  const auto found = std::find_if(jobs.begin(), jobs.end(),
                                  [](const JobRecord& job) { return !job.job && !job.lost; });
  return found == jobs.end() ? nullptr : &*found;
}

int StudyState::next_attempt(const StageName& stage, JobKind kind) const {
  int next = 0;
  for (const JobRecord& job : jobs) {
    if (job.stage == stage && job.kind == kind) next = std::max(next, job.attempt + 1);
  }
  return next;
}

Expected<StudyState> fold(std::span<const Event> events) {
  if (events.empty() || !std::holds_alternative<StudyCreated>(events.front().body)) {
    return corrupt_data("the journal does not begin with study_created; is this a study?");
  }
  StudyState state;
  StageName last_decided;
  for (const Event& event : events) {
    std::visit(Fold{state, last_decided, event.at}, event.body);
    state.last_event = event.number;
  }
  return state;
}

std::string job_name(const StudyId& study, const StageName& stage, JobKind kind, int attempt) {
  const std::string head = "st-" + study.text.substr(0, 8);
  const std::string middle = stage.empty() ? "" : "-" + stage.text;
  return fmt::format("{}{}-{}-{}", head, middle, name_of(kind), attempt);
}

}  // namespace slurmtune
