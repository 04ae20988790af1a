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

std::string how_to_go_on(const StatusInput& status) {
  return "slurmtune resume " + status.directory.root().string();
}

}  // namespace

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
    const std::string what = is_local
                                 ? "the slurmtune that runs it; if none does"
                                 : "a job, and the batch system tells of none; if none is left";
    return fmt::format("{}: {}", what, how_to_go_on(status));
  }
  if (stage->done == stage->experiments && stage->experiments > 0) {
    return "the reducer of " + stage->name.text;
  }
  const std::string reason = queue_reason(status, stage->name);
  if (stage->running > 0 || reason.empty()) {
    return fmt::format("{} experiments of {}", stage->experiments - stage->done, stage->name.text);
  }
  return fmt::format("{} in the queue: {}", stage->name.text, reason);
}

}  // namespace slurmtune
