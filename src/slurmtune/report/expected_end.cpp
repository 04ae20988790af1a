// SPDX-License-Identifier: MIT
#include "slurmtune/report/expected_end.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "slurmtune/report/status_waits.hpp"

namespace slurmtune {

namespace {

using std::chrono::milliseconds;

/// Mean wall time of the trials that ran, over all lanes; 0 if none did.
double measured_s(const StudyView& view) {
  double sum = 0.0;
  std::int64_t count = 0;
  for (const StageView& stage : view.stages) {
    for (const Shard& shard : stage.shards) {
      for (const Verdict& verdict : shard.verdicts) {
        if (verdict.wall_s <= 0.0) continue;
        sum += verdict.wall_s;
        ++count;
      }
    }
  }
  return count == 0 ? 0.0 : sum / static_cast<double>(count);
}

/// The same as the plan thinks it likely, of one stage; 0 if it says nothing.
double planned_s(const PlannedStage& stage, int lanes) {
  if (stage.likely_experiments <= 0 || stage.nodes_per_task <= 0) return 0.0;
  const double task_s = static_cast<double>(stage.likely_node_seconds) / stage.nodes_per_task;
  return task_s * lanes / static_cast<double>(stage.likely_experiments);
}

/// Experiments of each open task of a stage that have no verdict.
std::vector<std::int64_t> left_by_task(const StageView& stage) {
  std::set<std::pair<ExperimentId, int>> judged;
  for (const Shard& shard : stage.shards) {
    for (const Verdict& verdict : shard.verdicts) {
      judged.insert({verdict.experiment, verdict.attempt});
    }
  }
  std::vector<std::int64_t> left;
  for (const std::int64_t number : open_slices(stage)) {
    const Slice& slice = stage.manifest->slices[static_cast<std::size_t>(number)];
    std::int64_t count = 0;
    for (std::int64_t i = slice.first; i < slice.end; ++i) {
      const Experiment& experiment = stage.manifest->experiments[static_cast<std::size_t>(i)];
      if (!judged.contains({experiment.id, experiment.attempt})) ++count;
    }
    left.push_back(count);
  }
  return left;
}

/// The same of a stage to come: tasks as full as the plan sized them.
std::vector<std::int64_t> likely_by_task(const PlannedStage& stage) {
  const std::int64_t tasks = std::max<std::int64_t>(1, stage.tasks_max);
  const std::int64_t each = std::max<std::int64_t>(1, (stage.experiments_max + tasks - 1) / tasks);
  std::vector<std::int64_t> counts;
  for (std::int64_t left = stage.likely_experiments; left > 0; left -= each) {
    counts.push_back(std::min(left, each));
  }
  return counts;
}

/// Seconds from the start of a stage's first task to the end of its last.
double stage_s(const std::vector<std::int64_t>& tasks, std::int64_t at_once, int lanes,
               double experiment_s) {
  double longest = 0.0;
  double sum = 0.0;
  for (const std::int64_t count : tasks) {
    const double task_s = std::ceil(static_cast<double>(count) / std::max(1, lanes)) * experiment_s;
    longest = std::max(longest, task_s);
    sum += task_s;
  }
  const auto width = static_cast<double>(
      std::clamp<std::int64_t>(at_once, 1, std::max<std::int64_t>(1, std::ssize(tasks))));
  return std::max(longest, sum / width);
}

/// Whether a task of the stage runs, and else when the queue expects the first one to.
struct StageStart {
  bool runs = false;
  std::optional<Instant> expected;
};
StageStart start_of(const StudyView& view, const StageName& stage,
                    std::span<const JobReport> jobs) {
  std::set<std::int64_t> arrays;
  for (const JobRecord* job : view.state.jobs_of(stage, JobKind::array)) arrays.insert(*job->job);
  StageStart start;
  for (const JobReport& report : jobs) {
    if (!arrays.contains(report.job.number)) continue;
    start.runs = start.runs || report.state == JobState::running;
    if (!is_waiting(report.state) || !report.starts) continue;
    start.expected = start.expected ? std::min(*start.expected, *report.starts) : report.starts;
  }
  return start;
}

/// When the last array begins that waits for a window of the study; nothing if none does.
std::optional<Instant> window_start_of(const StudyView& view, std::size_t current,
                                       std::span<const JobReport> jobs, Instant now) {
  if (!view.state.created.window) return std::nullopt;
  const JobsByNumber records = jobs_by_number(view);
  std::optional<Instant> last;
  for (const JobReport& report : jobs) {
    const auto job = records.find(report.job.number);
    if (job == records.end() || job->second->kind != JobKind::array) continue;
    const auto index = view.plan.index_of(job->second->stage);
    if (!index || *index < current || !waits_for_begin_time(report)) continue;
    const Instant begin = begin_in_window(view, job->second->stage, report, now);
    last = last ? std::max(*last, begin) : begin;
  }
  return last;
}

}  // namespace

std::optional<ExpectedEnd> expected_end(const StudyView& view, std::span<const JobReport> jobs,
                                        Instant now) {
  const std::size_t current = current_stage(view);
  if (view.state.finished || view.state.cancelled || current >= view.stages.size()) {
    return std::nullopt;
  }
  const auto& manifest = view.stages[current].manifest;
  const int lanes = manifest ? manifest->lanes : 1;
  ExpectedEnd end;
  const double measured = measured_s(view);
  end.measured = measured > 0.0;
  const bool is_local = view.state.starter() == JobStarter::foreground;
  double seconds = 0.0;
  double weight = 0.0;
  for (std::size_t i = current; i < view.stages.size(); ++i) {
    const PlannedStage& planned = view.plan.stages[i];
    const auto tasks =
        view.stages[i].manifest ? left_by_task(view.stages[i]) : likely_by_task(planned);
    const double each = end.measured ? measured : planned_s(planned, lanes);
    for (const std::int64_t count : tasks) {
      end.experiments += count;
      weight += static_cast<double>(count) * each;
    }
    seconds += stage_s(tasks, planned.tasks_at_once, lanes, each);
    if (i > current && !tasks.empty() && !is_local) end.waits_left_out = true;
  }
  if (weight <= 0.0) return std::nullopt;
  end.experiment_s = weight / static_cast<double>(end.experiments);
  const StageStart start = start_of(view, view.plan.stages[current].name, jobs);
  if (!start.runs && !is_local) {
    end.queue_start = start.expected;
    if (!start.expected) end.waits_left_out = true;
  }
  if (const auto opens = window_start_of(view, current, jobs, now)) end.queue_start = opens;
  end.at = std::max(now, end.queue_start.value_or(now)) +
           milliseconds(static_cast<std::int64_t>(seconds * 1000.0));
  if (view.state.deadline && *view.state.deadline < end.at) {
    end.at = *view.state.deadline;
    end.by_deadline = true;
  }
  return end;
}

std::string in_words(const ExpectedEnd& end, Instant now) {
  const std::string at = format_instant(end.at).substr(0, 16) + 'Z';
  std::string text = fmt::format(
      "about {}, in {}: an estimate from {} experiments left at {} each ({})", at,
      format_duration(end.at > now ? end.at - now : milliseconds(0)), end.experiments,
      format_duration(milliseconds(static_cast<std::int64_t>(end.experiment_s * 1000.0))),
      end.measured ? "measured" : "by the plan");
  if (end.by_deadline) return text + ", cut off by the deadline";
  if (end.queue_start) text += ", and the start that the queue expects";
  if (end.waits_left_out) text += "; waits in the queue are not in it";
  return text;
}

}  // namespace slurmtune
