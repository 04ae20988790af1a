// SPDX-License-Identifier: MIT
//
// What the Autotuner asks the batch system about the jobs of a study: verdict files come first, the
// queue second, accounting third; that a job is gone is believed when it was seen twice.
#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "slurmtune/tune/autotuner.hpp"

namespace slurmtune {

namespace {

/// Whether it would change what is done next if the job were not gone after all. Jobs of concluded
/// stages are purged some minutes after their end: that is normal. An array whose tasks have all
/// told of their ends is over whatever anybody says.
bool is_missed(const StudyView& view, const JobRecord& job) {
  if (!job.job || job.job == view.own_job || view.state.finished) return false;
  if (view.state.dropped.contains({*job.job, 0})) return false;
  if (job.stage.empty()) return true;
  const auto index = view.plan.index_of(job.stage);
  const std::size_t current = current_stage(view);
  if (!index || *index < current) return false;
  if (job.kind != JobKind::array || !view.stages[*index].manifest) return true;
  return !open_slices(view.stages[*index]).empty();
}

/// Whether a job has a number of ours, but is another study's or another user's: a controller that
/// forgot its newest jobs gives their numbers away again. Who submits by hand may name as they
/// like.
bool is_foreign(const StudyState& state, const std::string& name) {
  const std::string ours = "st-" + state.created.study.text.substr(0, 8) + "-";
  const bool by_us = state.created.submit == "graph" || state.goes_by_steps();
  return by_us && !name.empty() && !name.starts_with(ours);
}

std::vector<JobId> ids_of(const std::set<std::int64_t>& numbers) {
  std::vector<JobId> jobs;
  for (const std::int64_t number : numbers) jobs.push_back({number});
  return jobs;
}

}  // namespace

Expected<void> Autotuner::ask_queue(StudyView& view) {
  std::vector<JobId> jobs;
  for (const JobRecord& job : view.state.jobs) {
    if (job.job) jobs.push_back({*job.job});
  }
  // The old answer says nothing of a job that another process has submitted meanwhile.
  const bool answered = queue_ && std::all_of(jobs.begin(), jobs.end(), [&](JobId job) {
                          return queue_->asked.contains(job.number);
                        });
  // Who has stayed silent once, through all the tries, is left alone by this process.
  if (!answered && !silence_.empty()) return {};
  if (!answered) {
    queue_.emplace();
    for (const JobId job : jobs) queue_->asked.insert(job.number);
    if (!jobs.empty()) {
      const auto reports = executor_->report(jobs);
      if (!reports) {
        // Much can be done without the queue; `decide` says so where it cannot.
        say(reports.error().message);
        queue_.reset();
        silence_ = reports.error().message;
        return {};
      }
      take(view, *reports);
      const bool doubts =
          absence_ == Absence::doubted && view.state.starter() == JobStarter::batch_system;
      if (doubts) {
        const auto explained = explain_absence(view, jobs);
        if (!explained) {
          say(explained.error().message);
          queue_.reset();
          return {};
        }
      }
    }
  }
  if (absence_ == Absence::doubted) ask_accounting(view);
  view.live_jobs = queue_->live;
  for (const std::int64_t job : queue_->held) {
    if (queue_->live.contains(job) && !queue_->moves.contains(job)) view.held_jobs.insert(job);
  }
  for (const auto& [task, report] : queue_->over) view.reported_over.push_back(report);
  return {};
}

void Autotuner::take(const StudyView& view, const std::vector<JobReport>& reports) {
  for (const JobReport& report : reports) {
    if (is_foreign(view.state, report.name)) continue;
    queue_->told.insert(report.job.number);
    if (!is_over(report.state)) {
      queue_->live.insert(report.job.number);
      (is_held_after_launch(report) ? queue_->held : queue_->moves).insert(report.job.number);
    } else if (report.task) {
      JobReport& known = queue_->over[{report.job.number, *report.task}];
      // Accounting, asked second, alone knows by whom a job was cancelled.
      if (known.state == JobState::unknown || report.cancelled_by != CancelledBy::unknown) {
        known = report;
      }
    }
  }
}

Expected<void> Autotuner::explain_absence(const StudyView& view, const std::vector<JobId>& jobs) {
  const auto missed = [&] {
    std::set<std::int64_t> found;
    for (const JobRecord& job : view.state.jobs) {
      if (is_missed(view, job) && !queue_->told.contains(*job.job)) found.insert(*job.job);
    }
    return found;
  };
  if (missed().empty()) return {};
  const auto accounted = executor_->accounting(ids_of(missed()));
  if (accounted) {
    queue_->accounted.merge(missed());
    take(view, *accounted);
    if (missed().empty()) return {};
  }
  say(fmt::format("the batch system does not know job {}; it is asked again in {} s",
                  fmt::join(missed(), ", "),
                  std::chrono::duration_cast<std::chrono::seconds>(world_.absence_pause).count()));
  world_.sleep(world_.absence_pause);
  SLURMTUNE_TRY(const auto again, executor_->report_anew(jobs));
  for (auto* jobs_then : {&queue_->live, &queue_->held, &queue_->moves}) jobs_then->clear();
  take(view, again);
  return {};
}

void Autotuner::ask_accounting(const StudyView& view) {
  const std::size_t current = current_stage(view);
  if (current >= view.stages.size() || !view.stages[current].manifest) return;
  const StageView& stage = view.stages[current];
  const auto open = open_slices(stage);
  std::set<std::int64_t> asked;
  for (const JobRecord* job : view.state.jobs_of(plan_.stages[current].name, JobKind::array)) {
    if (queue_->live.contains(*job->job) || queue_->accounted.contains(*job->job)) continue;
    const auto is_unclear = [&](std::int64_t task) {
      if (view.state.ended_tasks.contains({*job->job, task})) return false;
      const auto known = queue_->over.find({*job->job, task});
      return known == queue_->over.end() || known->second.state == JobState::cancelled;
    };
    for (const std::int64_t slice : open) {
      const std::int64_t task = slice - job->first_slice;
      if (task >= 0 && task < job->tasks.value_or(1) && is_unclear(task)) asked.insert(*job->job);
    }
    for (const Shard& shard : stage.shards) {
      const bool cancelled = shard.end && shard.end->reason == "cancelled";
      if (!cancelled || shard.start.array_job != *job->job) continue;
      if (is_unclear(shard.start.task)) asked.insert(*job->job);
    }
  }
  if (asked.empty()) return;
  const auto accounted = executor_->accounting(ids_of(asked));
  queue_->accounted.merge(asked);
  if (accounted) take(view, *accounted);
}

}  // namespace slurmtune
