// SPDX-License-Identifier: MIT
#include "slurmtune/runner/array_task.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include "slurmtune/base/version.hpp"
#include "slurmtune/runner/experiment_verdict.hpp"
#include "slurmtune/runner/shard_writer.hpp"
#include "slurmtune/runner/start/setup_lines.hpp"
#include "slurmtune/runner/stop_signals.hpp"
#include "slurmtune/runner/study_files.hpp"
#include "slurmtune/runner/task_loop.hpp"
#include "slurmtune/runner/task_setting.hpp"
#include "slurmtune/runner/trial_setup.hpp"
#include "slurmtune/study/register_job.hpp"

namespace slurmtune {

namespace {

constexpr std::chrono::seconds heartbeat_every{30};
/// Before the task's own end: for ending a trial and writing what is left to write.
constexpr std::chrono::seconds end_margin{20};

Instant wall_clock() {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::system_clock::now());
}

double seconds_between(Instant from, Instant to) {
  return std::chrono::duration<double>(to - from).count();
}

/// The loop over the experiments of one slice.
class ArrayTask {
 public:
  ArrayTask(const TrialFrame& frame, StopSignals& stop, ShardWriter& shard)
      : frame_(frame), stop_(stop), shard_(shard), last_beat_(wall_clock()) {}

  Expected<void> run(const std::vector<Experiment>& experiments);
  /// No trial can be started, for the same reason.
  Expected<void> refuse_all(const std::vector<Experiment>& experiments, const Error& why);

 private:
  Expected<void> beat();
  Expected<Verdict> measure(const Experiment& experiment);
  [[nodiscard]] bool has_time_for(const Experiment& experiment) const;
  Expected<void> write(const Verdict& verdict);
  Expected<void> end(std::string reason);

  const TrialFrame& frame_;
  StopSignals& stop_;
  ShardWriter& shard_;
  Instant last_beat_;
  std::optional<double> longest_trial_s_;
};

Expected<void> ArrayTask::beat() {
  const Instant now = wall_clock();
  if (now - last_beat_ < heartbeat_every) return {};
  last_beat_ = now;
  return shard_.write(Heartbeat{now});
}

bool ArrayTask::has_time_for(const Experiment& experiment) const {
  if (!frame_.setting.ends_by) return true;
  const double left_s = seconds_between(wall_clock(), *frame_.setting.ends_by - end_margin);
  return left_s >= likely_trial_s(experiment, longest_trial_s_);
}

Expected<void> ArrayTask::write(const Verdict& verdict) {
  fmt::print("slurmtune-runner: {} {} {} ({:.1f} s)\n", verdict.experiment.text,
             name_of(verdict.outcome), verdict.reason, verdict.wall_s);
  std::fflush(stdout);
  return shard_.write(verdict);
}

Expected<Verdict> ArrayTask::measure(const Experiment& experiment) {
  const Instant started = wall_clock();
  auto trial = set_up_trial(frame_, experiment);
  if (!trial && trial.error().kind == ErrorKind::invalid_input) {
    return verdict_without_trial(frame_, experiment, Outcome::config_error, "render",
                                 trial.error().message, started);
  }
  if (!trial) return tl::unexpected<Error>(trial.error());
  if (frame_.setting.ends_by) {
    trial->rules.ends_by_s = seconds_between(started, *frame_.setting.ends_by - end_margin);
  }
  SLURMTUNE_TRY(const TrialResult result, run_trial(*trial, stop_, [this] { return beat(); }));
  if (!longest_trial_s_ || result.wall_s > *longest_trial_s_) longest_trial_s_ = result.wall_s;
  return verdict_of(frame_, experiment, result, started, wall_clock());
}

Expected<void> ArrayTask::end(std::string reason) {
  const Instant now = wall_clock();
  TaskEnd task_end;
  task_end.at = now;
  task_end.reason = std::move(reason);
  const auto lasted = std::chrono::ceil<std::chrono::seconds>(now - frame_.setting.started).count();
  task_end.node_seconds = lasted * frame_.setting.allocated_nodes;
  return shard_.write(task_end);
}

Expected<void> ArrayTask::run(const std::vector<Experiment>& experiments) {
  std::string reason = "done";
  for (const Experiment& experiment : experiments) {
    SLURMTUNE_CHECK(beat());
    if (const auto requested = stop_.requested()) reason = name_of(*requested);
    if (reason == "done" && !has_time_for(experiment)) reason = "no_time";
    if (reason != "done") {
      SLURMTUNE_CHECK(write(verdict_without_trial(frame_, experiment, Outcome::not_started,
                                                  "no_time", "", wall_clock())));
      continue;
    }
    auto verdict = measure(experiment);
    if (!verdict) {
      // Our own files failed. The shard may still take the news; if not, the exit code tells it.
      const Error why = verdict.error();
      SLURMTUNE_CHECK(write(verdict_without_trial(frame_, experiment, Outcome::storage_error,
                                                  "runner", why.message, wall_clock())));
      SLURMTUNE_CHECK(end("storage_error"));
      return tl::unexpected<Error>(why);
    }
    SLURMTUNE_CHECK(write(*verdict));
    if (verdict->outcome == Outcome::preempted) reason = "preempted";
    if (verdict->outcome == Outcome::cancelled) reason = "cancelled";
    if (verdict->outcome == Outcome::storage_error) {
      SLURMTUNE_CHECK(end("storage_error"));
      return unavailable(fmt::format("the file system failed under a trial: {}",
                                     verdict->evidence ? verdict->evidence->line : ""));
    }
  }
  return end(reason);
}

Expected<void> ArrayTask::refuse_all(const std::vector<Experiment>& experiments, const Error& why) {
  for (const Experiment& experiment : experiments) {
    SLURMTUNE_CHECK(write(verdict_without_trial(frame_, experiment, Outcome::launch_error, "setup",
                                                why.message, wall_clock())));
  }
  return end("done");
}

TaskStart task_start_of(const StudyFiles& files, const TaskSetting& setting, std::int64_t slice) {
  TaskStart start;
  start.study = files.manifest->study;
  start.stage = files.stage;
  start.slice = slice;
  start.array_job = setting.array_job;
  start.task = setting.task;
  start.restart = setting.restart;
  start.nodes = setting.nodes;
  start.allocated_nodes = setting.allocated_nodes;
  start.gpus = setting.gpus;
  start.at = wall_clock();
  start.ends_by = setting.ends_by;
  start.runner = version();
  return start;
}

/// Tells the journal of this array, which may have been submitted by hand.
Expected<void> tell_journal(const StudyFiles& files, const TaskSetting& setting,
                            std::int64_t slice) {
  return register_own_job(files.directory, wall_clock,
                          {.stage = files.stage,
                           .kind = JobKind::array,
                           .job = setting.array_job,
                           .first_slice = slice - setting.task,
                           .tasks = setting.array_tasks});
}

Expected<void> check_nodes(const StudyFiles& files, const TaskSetting& setting) {
  const int wanted = files.input.spec.trial.nodes;
  if (!setting.in_slurm_job || static_cast<int>(setting.nodes.size()) >= wanted) return {};
  return invalid_input(fmt::format(
      "a trial takes {} nodes, but the runner was started on {}; start one rank a node (site key "
      "runner_launch), or name the nodes with --nodes",
      wanted, setting.nodes.size()));
}

}  // namespace

Expected<void> run_array_task(const ArrayTaskRequest& request) {
  SLURMTUNE_TRY(const StudyFiles files,
                read_study_files(request.study, request.stage, request.environment));
  const auto say_nothing_to_do = [&](std::string_view why) {
    fmt::print("slurmtune-runner: {} slice {}: nothing to run: {}\n", request.stage.text,
               request.slice, why);
    return Expected<void>();
  };
  if (!files.manifest) return say_nothing_to_do("the stage was not released");
  SLURMTUNE_TRY(const TaskSetting setting,
                task_setting(request.environment, *files.manifest, files.input.site, request.nodes,
                             wall_clock()));
  SLURMTUNE_CHECK(check_nodes(files, setting));
  SLURMTUNE_CHECK(tell_journal(files, setting, request.slice));
  const auto verdicts = files.directory.verdicts(request.stage);
  SLURMTUNE_TRY(const auto earlier, earlier_shards(verdicts, setting.array_job, request.slice));
  const auto experiments = open_experiments(*files.manifest, request.slice, earlier);
  if (experiments.empty() && earlier.empty()) return say_nothing_to_do("the slice is empty");
  SLURMTUNE_CHECK(watch_rules(files.input.spec.measure, files.manifest->experiments.front()));

  const LauncherPlace place{setting.in_slurm_job, ::geteuid() == 0, request.runner};
  SLURMTUNE_TRY(const auto launcher, make_launcher(files.input.spec.trial.launcher,
                                                   files.input.site.trial_launch, place));
  SLURMTUNE_CHECK(adopt_orphans());
  Environment scrubbed = request.environment;
  scrub_launch_variables(scrubbed);
  const auto environment = run_setup(files.input.spec.trial.setup, scrubbed, files.workdir);

  SLURMTUNE_TRY(StopSignals stop, StopSignals::catch_all());
  SLURMTUNE_TRY(ShardWriter shard,
                ShardWriter::create(verdicts, task_start_of(files, setting, request.slice)));
  const TrialFrame frame{files, setting, *launcher, environment ? *environment : scrubbed};
  ArrayTask task(frame, stop, shard);
  return environment ? task.run(experiments) : task.refuse_all(experiments, environment.error());
}

}  // namespace slurmtune
