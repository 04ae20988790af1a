// SPDX-License-Identifier: MIT
#include "slurmtune/simulate/fake_scheduler.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace slurmtune {

namespace {

std::string joined(const std::vector<std::string>& nodes) {
  return fmt::format("{}", fmt::join(nodes, ","));
}

}  // namespace

FakeScheduler::FakeScheduler(ManualClock& clock, FakeClusterOptions options)
    : clock_(clock), options_(std::move(options)), next_id_(options_.first_job) {
  SLURMTUNE_ASSERT(options_.nodes >= 1 && options_.cpus_per_node >= 1);
  for (int i = 1; i <= options_.nodes; ++i) {
    nodes_[fmt::format("n{}", i)] = {.free_cpus = options_.cpus_per_node, .up = true};
  }
}

// --- Scheduler ---

Expected<JobId> FakeScheduler::submit(const JobRequest& job) {
  calls_.submit += 1;
  SLURMTUNE_CHECK(answers());
  SLURMTUNE_TRY(FakeScript script, admit(job));
  const JobId id{next_id_++};
  Job& added = jobs_[id.number];
  added.request = job;
  added.script = std::move(script);
  added.tasks.resize(static_cast<std::size_t>(job.array_tasks.value_or(1)));
  if (job.begin) {
    for (Task& task : added.tasks) task.not_before = *job.begin;
  }
  if (std::exchange(answer_lost_, false)) {
    return unavailable(fmt::format("submit {}: socket timed out on send/recv operation", job.name));
  }
  return id;
}

Expected<FakeScript> FakeScheduler::admit(const JobRequest& job) const {
  SLURMTUNE_TRY(FakeScript script, read_fake_script(job.script));
  const auto& partitions = options_.partitions;
  if (!script.partition.empty() &&
      std::find(partitions.begin(), partitions.end(), script.partition) == partitions.end()) {
    return invalid_input(fmt::format("job {} is refused: invalid partition specified: {}", job.name,
                                     script.partition));
  }
  if (job.array_tasks && (*job.array_tasks < 1 || *job.array_tasks > options_.array_size_max)) {
    return invalid_input(fmt::format("job {} is refused: invalid job array specification: {} tasks",
                                     job.name, *job.array_tasks));
  }
  std::int64_t jobs = job.array_tasks.value_or(1);
  for (const auto& [id, other] : jobs_) {
    jobs += std::count_if(other.tasks.begin(), other.tasks.end(), [](const Task& task) {
      return task.phase == Phase::pending || task.phase == Phase::running;
    });
  }
  if (jobs > options_.submit_jobs_max) {
    return invalid_input(
        fmt::format("job {} is refused: job violates accounting/QOS policy (job submit limit, "
                    "user's size and/or time limits)",
                    job.name));
  }
  if (script.nodes > options_.nodes) {
    return invalid_input(
        fmt::format("job {} is refused: requested node configuration is not available: {} nodes",
                    job.name, script.nodes));
  }
  return script;
}

Expected<std::optional<JobId>> FakeScheduler::find(const std::string& name) {
  calls_.find += 1;
  SLURMTUNE_CHECK(answers());
  forget_old();
  for (auto job = jobs_.rbegin(); job != jobs_.rend(); ++job) {
    if (job->second.request.name != name) continue;
    const auto& tasks = job->second.tasks;
    const bool known = std::any_of(tasks.begin(), tasks.end(),
                                   [](const Task& task) { return task.phase != Phase::gone; });
    if (known) return JobId{job->first};
  }
  return std::nullopt;
}

Expected<std::vector<JobReport>> FakeScheduler::report(std::span<const JobId> jobs) {
  calls_.report += 1;
  SLURMTUNE_CHECK(answers());
  forget_old();
  std::vector<JobReport> reports;
  if (blank_answers_ > 0) {
    --blank_answers_;
    return reports;
  }
  for (const JobId id : jobs) {
    const auto found = jobs_.find(id.number);
    if (found == jobs_.end()) continue;
    const Job& job = found->second;
    bool rest_is_reported = false;
    for (std::size_t i = 0; i < job.tasks.size(); ++i) {
      const Task& task = job.tasks[i];
      if (task.phase == Phase::gone) continue;
      if (task.phase == Phase::pending && std::exchange(rest_is_reported, true)) continue;
      reports.push_back(report_of(id, job, i));
      if (task.phase == Phase::pending) reports.back().reason = why_pending(job, task);
    }
  }
  return reports;
}

JobReport FakeScheduler::report_of(JobId id, const Job& job, std::size_t index) {
  const Task& task = job.tasks[index];
  JobReport report{.job = id,
                   .task = std::nullopt,
                   .name = job.request.name,
                   .state = JobState::pending,
                   .reason = "",
                   .nodes = joined(task.nodes),
                   .restarts = task.restart};
  if (task.phase == Phase::pending) return report;
  report.state = task.phase == Phase::running ? JobState::running : task.ending;
  if (job.request.array_tasks) report.task = static_cast<std::int64_t>(index);
  if (report.state == JobState::completed) report.exit_code = 0;
  return report;
}

Expected<std::vector<JobReport>> FakeScheduler::accounting(std::span<const JobId> jobs) {
  calls_.accounting += 1;
  if (options_.accounting == Accounting::off) {
    return unavailable("Slurm accounting storage is disabled");
  }
  std::vector<JobReport> reports;
  for (const JobId id : jobs) {
    const auto found = jobs_.find(id.number);
    if (found == jobs_.end()) continue;
    const Job& job = found->second;
    for (std::size_t i = 0; i < job.tasks.size(); ++i) {
      if (!job.tasks[i].accounted) continue;
      JobReport& report = reports.emplace_back(report_of(id, job, i));
      if (report.state == JobState::cancelled) report.cancelled_by = CancelledBy::owner;
    }
  }
  return reports;
}

Expected<void> FakeScheduler::exclude_nodes(JobId job, const std::string& nodes) {
  calls_.exclude += 1;
  SLURMTUNE_CHECK(answers());
  const auto found = jobs_.find(job.number);
  if (found != jobs_.end()) found->second.request.exclude = nodes;
  return {};
}

Expected<void> FakeScheduler::cancel(JobId job) {
  const auto found = jobs_.find(job.number);
  const std::size_t tasks = found == jobs_.end() ? 0 : found->second.tasks.size();
  return cancel_tasks(job, 0, static_cast<std::int64_t>(tasks));
}

Expected<void> FakeScheduler::cancel_tasks(JobId job, std::int64_t first, std::int64_t end) {
  calls_.cancel += 1;
  SLURMTUNE_CHECK(answers());
  const auto found = jobs_.find(job.number);
  if (found == jobs_.end()) return {};
  const auto tasks = static_cast<std::int64_t>(found->second.tasks.size());
  for (std::int64_t i = std::max<std::int64_t>(0, first); i < std::min(end, tasks); ++i) {
    cancel_task({job.number, static_cast<std::size_t>(i)});
  }
  return {};
}

void FakeScheduler::cancel_task(const TaskKey& key) {
  Job& job = jobs_.at(key.job);
  Task& task = job.tasks[key.index];
  if (task.phase == Phase::running) {
    end(key, JobState::cancelled);
  } else if (task.phase == Phase::pending) {
    // Measured: array tasks that are cancelled while pending leave no record; single jobs do.
    task.phase = job.request.array_tasks ? Phase::gone : Phase::over;
    task.ending = JobState::cancelled;
    task.ends_at = clock_.now();
    task.accounted = task.phase == Phase::over;
  }
}

Expected<void> FakeScheduler::answers() const {
  if (!away_) return {};
  return unavailable("unable to contact the controller (connect failure)");
}

// --- What is known ---

bool FakeScheduler::is_over(const Job& job) {
  return std::all_of(job.tasks.begin(), job.tasks.end(), [](const Task& task) {
    return task.phase == Phase::over || task.phase == Phase::gone;
  });
}

bool FakeScheduler::dependencies_are_over(const Job& job) const {
  const auto& after = job.request.after_any;
  return std::all_of(after.begin(), after.end(), [&](JobId id) {
    const auto found = jobs_.find(id.number);
    return found == jobs_.end() || is_over(found->second);  // measured: afterany of nothing runs
  });
}

bool FakeScheduler::is_throttled(const Job& job) const {
  if (!job.request.array_at_once) return false;
  const auto running = std::count_if(job.tasks.begin(), job.tasks.end(),
                                     [](const Task& task) { return task.phase == Phase::running; });
  return running >= *job.request.array_at_once;
}

std::string FakeScheduler::why_pending(const Job& job, const Task& task) const {
  if (!dependencies_are_over(job)) return "Dependency";
  if (task.not_before > clock_.now()) return "BeginTime";
  if (is_throttled(job)) return "JobArrayTaskLimit";
  return "Resources";
}

std::vector<std::string> FakeScheduler::free_nodes(const Job& job) const {
  const FakeScript& script = job.script;
  const std::string excluded = "," + job.request.exclude + ",";
  std::vector<std::string> found;
  for (int i = 1; i <= options_.nodes; ++i) {
    const std::string name = fmt::format("n{}", i);
    const Node& node = nodes_.at(name);
    const int needed = script.exclusive ? options_.cpus_per_node : 1;
    if (excluded.find("," + name + ",") != std::string::npos) continue;
    if (node.up && node.free_cpus >= needed) found.push_back(name);
    if (static_cast<int>(found.size()) == script.nodes) return found;
  }
  return {};
}

void FakeScheduler::forget_old() {
  for (auto& [id, job] : jobs_) {
    for (Task& task : job.tasks) {
      if (task.phase == Phase::over && clock_.now() - task.ends_at >= options_.forget_after) {
        task.phase = Phase::gone;
      }
    }
  }
}

FakeTask FakeScheduler::view_of(const TaskKey& key) const {
  const Job& job = jobs_.at(key.job);
  const Task& task = job.tasks[key.index];
  FakeTask view{.job = {key.job},
                .task = std::nullopt,
                .name = job.request.name,
                .script = job.request.script,
                .nodes = task.nodes,
                .restart = task.restart,
                .started = task.started,
                .ends_by = std::nullopt};
  if (job.request.array_tasks) view.task = static_cast<std::int64_t>(key.index);
  if (job.script.walltime) view.ends_by = task.started + *job.script.walltime;
  return view;
}

const JobRequest& FakeScheduler::request_of(JobId job) const {
  return jobs_.at(job.number).request;
}

double FakeScheduler::billed_node_seconds(JobId job) const {
  return jobs_.at(job.number).node_seconds;
}

std::vector<JobId> FakeScheduler::submitted() const {
  std::vector<JobId> ids;
  for (const auto& [id, job] : jobs_) ids.push_back({id});
  return ids;
}

std::vector<FakeTask> FakeScheduler::running() const {
  std::vector<FakeTask> tasks;
  for (const auto& [id, job] : jobs_) {
    for (std::size_t i = 0; i < job.tasks.size(); ++i) {
      if (job.tasks[i].phase == Phase::running) tasks.push_back(view_of({id, i}));
    }
  }
  return tasks;
}

}  // namespace slurmtune
