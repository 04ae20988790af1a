// SPDX-License-Identifier: MIT
//
// Time and faults of the fake batch system.
#include <algorithm>
#include <utility>

#include "slurmtune/simulate/fake_scheduler.hpp"

namespace slurmtune {

namespace {

/// What a task does whose script nobody gave another meaning.
FakeRun run_as_written(const FakeScript& script) {
  return {.duration = script.sleep,
          .ending = script.exit_code == 0 ? JobState::completed : JobState::failed,
          .at_end = {}};
}

}  // namespace

void FakeScheduler::advance(std::chrono::milliseconds span) {
  [[maybe_unused]] const bool never = run_until([] { return false; }, span);
}

bool FakeScheduler::run_until(const std::function<bool()>& done, std::chrono::milliseconds limit) {
  const Instant target = clock_.now() + limit;
  settle();
  while (!done()) {
    const auto event = next_event();
    if (!event || *event > target) {
      clock_.advance_to(target);
      settle();
      return done();
    }
    clock_.advance_to(*event);
    settle();
  }
  return true;
}

bool FakeScheduler::run_until_idle(std::chrono::milliseconds limit) {
  const Instant target = clock_.now() + limit;
  settle();
  while (!is_idle()) {
    const auto event = next_event();
    if (!event || *event > target) return false;
    clock_.advance_to(*event);
    settle();
  }
  return true;
}

bool FakeScheduler::is_idle() const {
  return std::all_of(jobs_.begin(), jobs_.end(),
                     [](const auto& entry) { return is_over(entry.second); });
}

std::optional<Instant> FakeScheduler::next_event() const {
  std::optional<Instant> next;
  const auto consider = [&](Instant at) { next = std::min(next.value_or(at), at); };
  for (const auto& [id, job] : jobs_) {
    for (const Task& task : job.tasks) {
      if (task.phase == Phase::running) consider(task.ends_at);
      if (task.phase == Phase::pending && task.not_before > clock_.now()) {
        consider(task.not_before);
      }
    }
  }
  return next;
}

/// Ends what is due and starts what may start, until nothing is left to do at this time.
void FakeScheduler::settle() {
  if (settling_) return;
  settling_ = true;
  for (;;) {
    if (const auto due = next_to_end()) {
      const Task& task = jobs_.at(due->job).tasks[due->index];
      end(*due, task.ending);
    } else if (const auto ready = next_to_start()) {
      start(*ready);
    } else {
      break;
    }
  }
  settling_ = false;
}

std::optional<FakeScheduler::TaskKey> FakeScheduler::next_to_end() const {
  std::optional<TaskKey> next;
  Instant earliest = clock_.now();
  for (const auto& [id, job] : jobs_) {
    for (std::size_t i = 0; i < job.tasks.size(); ++i) {
      const Task& task = job.tasks[i];
      if (task.phase != Phase::running || task.ends_at > clock_.now()) continue;
      if (next && task.ends_at >= earliest) continue;
      earliest = task.ends_at;
      next = TaskKey{id, i};
    }
  }
  return next;
}

std::optional<FakeScheduler::TaskKey> FakeScheduler::next_to_start() const {
  for (const auto& [id, job] : jobs_) {
    if (is_over(job) || !dependencies_are_over(job) || is_throttled(job)) continue;
    if (free_nodes(job).empty()) continue;
    for (std::size_t i = 0; i < job.tasks.size(); ++i) {
      const Task& task = job.tasks[i];
      if (task.phase == Phase::pending && task.not_before <= clock_.now()) return TaskKey{id, i};
    }
  }
  return std::nullopt;
}

void FakeScheduler::start(const TaskKey& key) {
  Job& job = jobs_.at(key.job);
  Task& task = job.tasks[key.index];
  task.nodes = free_nodes(job);
  for (const std::string& name : task.nodes) {
    Node& node = nodes_.at(name);
    node.free_cpus = job.script.exclusive ? 0 : node.free_cpus - 1;
  }
  task.phase = Phase::running;
  task.started = clock_.now();
  const FakeTask view = view_of(key);
  task.ends_at = view.ends_by.value_or(Instant::max());
  // A behaviour may submit jobs; references into jobs_ stay valid, a map never moves its values.
  FakeRun run = options_.behaviour ? options_.behaviour(view) : run_as_written(job.script);
  if (task.phase != Phase::running) return;  // it cancelled itself
  const Instant ends_itself = view.started + run.duration;
  const bool in_time = !view.ends_by || ends_itself <= *view.ends_by;
  task.ending = in_time ? run.ending : JobState::timed_out;
  task.ends_at = in_time ? ends_itself : *view.ends_by;
  task.run = std::move(run);
}

void FakeScheduler::end(const TaskKey& key, JobState ending) {
  Job& job = jobs_.at(key.job);
  Task& task = job.tasks[key.index];
  SLURMTUNE_ASSERT(task.phase == Phase::running);
  for (const std::string& name : task.nodes) {
    Node& node = nodes_.at(name);
    node.free_cpus = job.script.exclusive ? options_.cpus_per_node : node.free_cpus + 1;
  }
  const double held_s = std::chrono::duration<double>(clock_.now() - task.started).count();
  job.node_seconds += held_s * static_cast<double>(task.nodes.size()) /
                      (job.script.exclusive ? 1 : options_.cpus_per_node);
  task.phase = Phase::over;
  task.ending = ending;
  task.accounted = true;
  task.ends_at = clock_.now();
  const FakeRun run = std::exchange(task.run, {});
  if (run.at_end) run.at_end(ending);
}

void FakeScheduler::requeue_or_end(const TaskKey& key, JobState ending) {
  end(key, ending);
  if (options_.requeue == Requeue::no) return;
  Task& task = jobs_.at(key.job).tasks[key.index];
  task.phase = Phase::pending;
  task.accounted = false;
  task.restart += 1;
  task.not_before = clock_.now() + options_.requeue_delay;
  task.nodes.clear();
}

// --- Faults ---

void FakeScheduler::fail_node(const std::string& node) {
  nodes_.at(node).up = false;
  std::vector<TaskKey> hit;
  for (const auto& [id, job] : jobs_) {
    for (std::size_t i = 0; i < job.tasks.size(); ++i) {
      const Task& task = job.tasks[i];
      const auto& on = task.nodes;
      if (task.phase == Phase::running && std::find(on.begin(), on.end(), node) != on.end()) {
        hit.push_back({id, i});
      }
    }
  }
  for (const TaskKey& key : hit) requeue_or_end(key, JobState::node_failed);
}

void FakeScheduler::repair_node(const std::string& node) { nodes_.at(node).up = true; }

void FakeScheduler::preempt(JobId job, std::optional<std::int64_t> task) {
  const TaskKey key{job.number, static_cast<std::size_t>(task.value_or(0))};
  if (jobs_.at(key.job).tasks.at(key.index).phase != Phase::running) return;
  requeue_or_end(key, JobState::preempted);
}

}  // namespace slurmtune
