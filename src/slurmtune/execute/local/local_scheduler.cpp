// SPDX-License-Identifier: MIT
#include "slurmtune/execute/local/local_scheduler.hpp"

#include <algorithm>
#include <csignal>
#include <fstream>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/execute/sbatch_directives.hpp"
#include "slurmtune/execute/slurm_words.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {
namespace {

using SteadyClock = std::chrono::steady_clock;

Instant now() {
  return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

}  // namespace

struct LocalScheduler::Task {
  std::optional<std::int64_t> index;  ///< absent: of a single job
  JobState state = JobState::pending;
  std::optional<ChildProcess> process;
  SteadyClock::time_point ends_by = SteadyClock::time_point::max();
  /// Set once it was told to end: when it is killed, and what it counts as.
  std::optional<SteadyClock::time_point> killed_at;
  JobState ended_as = JobState::cancelled;
  std::optional<int> exit_code;  ///< once it has ended
  std::optional<int> signal;
};

struct LocalScheduler::Job {
  JobId id;
  JobRequest request;
  std::string output;  ///< pattern
  std::optional<std::chrono::seconds> walltime;
  std::vector<Task> tasks;
};

LocalScheduler::LocalScheduler(LocalOptions options)
    : options_(options), next_id_(options.last_job + 1) {}

LocalScheduler::~LocalScheduler() { end_running(); }

Expected<JobId> LocalScheduler::submit(const JobRequest& request) {
  SLURMTUNE_CHECK(check_job_name(request.name));
  SLURMTUNE_CHECK(array_text(request));
  const auto script = read_file(request.script);
  if (!script) return invalid_input(script.error().message);
  if (!script->starts_with("#!")) {
    return invalid_input(request.script + ":1: a job script must begin with #! and its shell");
  }
  const auto directives = read_directives(*script);
  if (!directives) return in_context(request.script, directives.error());

  Job job{.id = JobId{next_id_},
          .request = request,
          .output = directive_value(*directives, "output")
                        .value_or(request.array_tasks ? "slurm-%A_%a.out" : "slurm-%j.out"),
          .walltime = {},
          .tasks = {}};
  if (!job.output.starts_with('/')) job.output = request.workdir + "/" + job.output;
  if (const auto time = directive_value(*directives, "time")) {
    SLURMTUNE_TRY(job.walltime, parse_walltime(*time));
  }
  if (request.array_tasks) {
    job.tasks.resize(static_cast<std::size_t>(*request.array_tasks));
    for (std::size_t i = 0; i < job.tasks.size(); ++i) {
      job.tasks[i].index = static_cast<std::int64_t>(i);
    }
  } else {
    job.tasks.resize(1);
  }
  jobs_.push_back(std::move(job));
  return JobId{next_id_++};
}

Expected<std::optional<JobId>> LocalScheduler::find(const std::string& name) {
  std::optional<JobId> newest;
  for (const Job& job : jobs_) {
    if (job.request.name == name) newest = job.id;
  }
  return newest;
}

Expected<std::vector<JobReport>> LocalScheduler::report(std::span<const JobId> jobs) {
  std::vector<JobReport> reports;
  for (const Job& job : jobs_) {
    if (std::find(jobs.begin(), jobs.end(), job.id) == jobs.end()) continue;
    const bool eligible = may_start(job);
    bool rest_reported = false;
    for (const Task& task : job.tasks) {
      JobReport report{.job = job.id,
                       .task = task.index,
                       .name = job.request.name,
                       .state = task.state,
                       .reason = "",
                       .nodes = "",
                       .exit_code = task.exit_code,
                       .signal = task.signal};
      if (task.state == JobState::pending) {
        // As Slurm does: one report for all tasks of an array that have not started.
        if (rest_reported) continue;
        rest_reported = true;
        report.task.reset();
        report.reason = eligible ? "Resources" : "Dependency";
      } else if (!task.process && task.state == JobState::cancelled && task.index) {
        continue;  // cancelled while pending: Slurm keeps no record of it
      } else {
        report.nodes = "localhost";
      }
      reports.push_back(std::move(report));
    }
  }
  return reports;
}

Expected<void> LocalScheduler::cancel(JobId id) {
  if (Job* job = job_of(id)) {
    for (Task& task : job->tasks) end(task);
  }
  return {};
}

Expected<void> LocalScheduler::cancel_tasks(JobId id, std::int64_t first, std::int64_t end_index) {
  if (Job* job = job_of(id)) {
    for (Task& task : job->tasks) {
      if (task.index && *task.index >= first && *task.index < end_index) end(task);
    }
  }
  return {};
}

LocalScheduler::Activity LocalScheduler::step() {
  std::int64_t running = 0;
  bool waiting = false;
  for (Job& job : jobs_) {
    for (Task& task : job.tasks) {
      look_at(task);
      if (task.state == JobState::running) ++running;
    }
  }
  for (Job& job : jobs_) {
    if (is_over(job)) continue;
    if (!may_start(job)) {
      waiting = true;
      continue;
    }
    std::int64_t of_this_job =
        std::count_if(job.tasks.begin(), job.tasks.end(),
                      [](const Task& task) { return task.state == JobState::running; });
    const std::int64_t throttle = job.request.array_at_once.value_or(options_.tasks_at_once);
    for (Task& task : job.tasks) {
      if (task.state != JobState::pending) continue;
      if (running >= options_.tasks_at_once || of_this_job >= throttle) break;
      start(job, task);
      if (task.state != JobState::running) continue;
      ++running;
      ++of_this_job;
    }
  }
  if (running > 0) return Activity::busy;
  // Something may have failed to start, and what depends on it may start now.
  const bool ready = std::any_of(jobs_.begin(), jobs_.end(),
                                 [&](const Job& job) { return !is_over(job) && may_start(job); });
  if (ready) return Activity::busy;
  return waiting ? Activity::waiting : Activity::idle;
}

bool LocalScheduler::run_until_idle(const std::function<bool()>& keep_going) {
  while (true) {
    if (!keep_going()) {
      end_running();
      return step() == Activity::idle;
    }
    switch (step()) {
      case Activity::idle: return true;
      case Activity::busy: std::this_thread::sleep_for(options_.poll); break;
      // Only a begin time is left: no need to look often.
      case Activity::waiting: std::this_thread::sleep_for(options_.poll * 10); break;
    }
  }
}

void LocalScheduler::end_running() {
  for (Job& job : jobs_) {
    for (Task& task : job.tasks) {
      if (task.state == JobState::running) end(task);
    }
  }
  const auto any_running = [&] {
    bool any = false;
    for (Job& job : jobs_) {
      for (Task& task : job.tasks) {
        look_at(task);
        any = any || task.state == JobState::running;
      }
    }
    return any;
  };
  // Bounded: look_at() kills what outlives its grace period.
  while (any_running()) std::this_thread::sleep_for(options_.poll);
}

LocalScheduler::Job* LocalScheduler::job_of(JobId id) {
  const auto found =
      std::find_if(jobs_.begin(), jobs_.end(), [&](const Job& job) { return job.id == id; });
  return found == jobs_.end() ? nullptr : &*found;
}

bool LocalScheduler::is_over(const Job& job) const {
  return std::all_of(job.tasks.begin(), job.tasks.end(),
                     [](const Task& task) { return slurmtune::is_over(task.state); });
}

bool LocalScheduler::may_start(const Job& job) const {
  if (job.request.begin && *job.request.begin > now()) return false;
  return std::all_of(job.request.after_any.begin(), job.request.after_any.end(), [&](JobId before) {
    const auto found = std::find_if(jobs_.begin(), jobs_.end(),
                                    [&](const Job& other) { return other.id == before; });
    // One that is not ours ran, and ended, under an earlier process.
    return found == jobs_.end() || is_over(*found);
  });
}

void LocalScheduler::look_at(Task& task) {
  if (task.state != JobState::running) return;
  if (const auto status = task.process->poll()) {
    if (status->signal != 0) {
      task.signal = status->signal;
    } else {
      task.exit_code = status->code;
    }
    if (task.killed_at) {
      task.state = task.ended_as;
    } else {
      task.state = status->success() ? JobState::completed : JobState::failed;
    }
    return;
  }
  const auto at = SteadyClock::now();
  if (!task.killed_at && at >= task.ends_by) {
    task.ended_as = JobState::timed_out;
    task.killed_at = at + options_.grace;
    tell_to_end(task);
  } else if (task.killed_at && at >= *task.killed_at) {
    task.process->signal_all(SIGKILL);
  }
}

void LocalScheduler::start(Job& job, Task& task) {
  const std::string id = std::to_string(job.id.number);
  const std::string index = std::to_string(task.index.value_or(0));
  const std::string output =
      fill_output_pattern(job.output, {.job = id, .task = index, .name = job.request.name});
  std::vector<std::string> environment = current_environment();
  if (options_.allocation == Allocation::hidden) {
    environment = submission_environment(environment);
  }
  set_variable(environment, "SLURMTUNE_JOB", id);
  set_variable(environment, "SLURMTUNE_TASK", index);
  auto process = ChildProcess::start({.argv = {"bash", job.request.script},
                                      .environment = std::move(environment),
                                      .workdir = job.request.workdir},
                                     {.out = output, .err = ""});
  if (!process) {
    task.state = JobState::failed;
    std::ofstream(output, std::ios::app) << "slurmtune: " << process.error().message << '\n';
    return;
  }
  task.process = *std::move(process);
  task.state = JobState::running;
  if (job.walltime) task.ends_by = SteadyClock::now() + *job.walltime;
}

void LocalScheduler::tell_to_end(Task& task) const {
  // srun takes SIGTERM as a word to itself and kills its step at once; SIGUSR1 it hands on, and our
  // runner writes what it has.
  task.process->signal_all(options_.allocation == Allocation::used ? SIGUSR1 : SIGTERM);
}

void LocalScheduler::end(Task& task) {
  if (task.state == JobState::pending) {
    task.state = JobState::cancelled;
  } else if (task.state == JobState::running && !task.killed_at) {
    task.ended_as = JobState::cancelled;
    task.killed_at = SteadyClock::now() + options_.grace;
    tell_to_end(task);
  }
}

}  // namespace slurmtune
