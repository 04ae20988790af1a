// SPDX-License-Identifier: MIT
#include "slurmtune/report/status_waits.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "slurmtune/report/table.hpp"

namespace slurmtune {

namespace {

/// Why a job of this stage does not run yet, in the batch system's word.
std::string queue_reason(const StatusInput& status, const StageName& stage) {
  const JobsByNumber records = jobs_by_number(status.view);
  for (const JobReport& report : status.jobs) {
    const auto job = records.find(report.job.number);
    if (job == records.end() || job->second->stage != stage || !is_waiting(report.state)) continue;
    return fmt::format("job {} is pending ({})", report.job.number,
                       report.reason.empty() ? "no reason given" : one_line(report.reason));
  }
  return "";
}

/// `today 02:27`, `tomorrow 02:27`, `2026-12-05 02:27`, by the clock of the study's window.
std::string day_and_time(const TimeWindow& window, Instant at, Instant now) {
  const auto local = [&](Instant instant) {
    std::chrono::seconds ahead = window.offsets.front().ahead;
    for (const UtcOffset& change : window.offsets) {
      if (change.from <= instant) ahead = change.ahead;
    }
    return instant + ahead;
  };
  using Days = std::chrono::duration<int, std::ratio<86'400>>;
  const auto days = std::chrono::floor<Days>(local(at)) - std::chrono::floor<Days>(local(now));
  const std::string words = format_instant(local(at));  // 2026-12-05T02:27:…
  const std::string time = words.substr(11, 5);
  if (days.count() == 0) return "today " + time;
  if (days.count() == 1) return "tomorrow " + time;
  return words.substr(0, 10) + ' ' + time;
}

/// What of a stage begins when the window of the study opens; "" if nothing does.
std::string window_wait(const StatusInput& status, const StageProgress& stage) {
  const auto& window = status.view.state.created.window;
  if (!window || window->offsets.empty()) return "";
  const JobsByNumber records = jobs_by_number(status.view);
  const JobReport* waiting = nullptr;
  bool others = false;
  for (const JobReport& report : status.jobs) {
    const auto job = records.find(report.job.number);
    const bool is_its_array = job != records.end() && job->second->kind == JobKind::array &&
                              job->second->stage == stage.name;
    if (!is_its_array || is_over(report.state)) continue;
    if (waits_for_begin_time(report)) {
      waiting = &report;
    } else {
      others = true;
    }
  }
  if (waiting == nullptr) return "";
  const std::string job = fmt::format(
      "job {}, which begins {}", waiting->job.number,
      day_and_time(*window, begin_in_window(status.view, stage.name, *waiting, status.now),
                   status.now));
  const std::int64_t left = stage.experiments - stage.done;
  if (stage.experiments == 0) return fmt::format("{} in {}", stage.name.text, job);
  if (!others) return fmt::format("{} experiments of {} in {}", left, stage.name.text, job);
  return fmt::format("{} experiments of {}; what did not fit into this window is in {}", left,
                     stage.name.text, job);
}

std::string how_to_go_on(const StatusInput& status) {
  return "slurmtune resume " + status.directory.root().string();
}

}  // namespace

bool waits_for_begin_time(const JobReport& report) {
  return is_waiting(report.state) && report.reason == "BeginTime";
}

Instant begin_in_window(const StudyView& view, const StageName& stage, const JobReport& report,
                        Instant now) {
  if (report.starts) return *report.starts;
  const auto& window = view.state.created.window;
  const auto index = view.plan.index_of(stage);
  if (!window || !index) return now;
  return window->begin_for(now, std::chrono::seconds(view.plan.stages[*index].task_walltime_s));
}

JobsByNumber jobs_by_number(const StudyView& view) {
  JobsByNumber jobs;
  for (const JobRecord& job : view.state.jobs) {
    if (job.job) jobs.emplace(*job.job, &job);
  }
  return jobs;
}

const StageProgress* stage_at_work(const StudyView& view,
                                   const std::vector<StageProgress>& stages) {
  const std::size_t current = current_stage(view);
  return current < stages.size() ? &stages[current] : nullptr;
}

std::string waits_for(const StatusInput& status, const std::vector<StageProgress>& stages) {
  const StudyView& view = status.view;
  if (view.state.finished) return "";
  if (const JobRecord* intent = view.state.open_intent()) {
    return fmt::format("{} is being submitted by {}", intent->name, intent->by);
  }
  const StageProgress* stage = stage_at_work(view, stages);
  if (stage == nullptr) return "the end of the study: " + how_to_go_on(status);
  const bool any_live = std::any_of(status.jobs.begin(), status.jobs.end(),
                                    [](const JobReport& job) { return !is_over(job.state); });
  const bool is_local = view.state.starter() == JobStarter::foreground;
  if (!any_live && view.state.created.submit == "scripts" && view.state.jobs.empty()) {
    return "its job scripts, which are to be submitted by hand";
  }
  for (const JobRecord& job : view.state.jobs) {
    if (job.kind != JobKind::whole || !job.job) continue;
    return fmt::format("job {}, which runs all of it (squeue --jobs={}); if it is gone: {}",
                       *job.job, *job.job, how_to_go_on(status));
  }
  if (!any_live) {
    std::string what = "a job, and the batch system tells of none; if none is left";
    if (is_local) what = "the slurmtune that runs it; if none does";
    if (!status.queue_error.empty()) what = "its jobs, as far as the files tell; if none is left";
    return fmt::format("{}: {}", what, how_to_go_on(status));
  }
  if (stage->done == stage->experiments && stage->experiments > 0) {
    return "the reducer of " + stage->name.text;
  }
  const std::string window = window_wait(status, *stage);
  if (!window.empty()) return window;
  const std::string reason = queue_reason(status, stage->name);
  if (stage->running > 0 || reason.empty()) {
    return fmt::format("{} experiments of {}", stage->experiments - stage->done, stage->name.text);
  }
  return fmt::format("{} in the queue: {}", stage->name.text, reason);
}

}  // namespace slurmtune
