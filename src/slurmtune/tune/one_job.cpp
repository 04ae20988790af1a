// SPDX-License-Identifier: MIT
#include "slurmtune/tune/one_job.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "slurmtune/study/files.hpp"
#include "slurmtune/study/journal.hpp"
#include "slurmtune/study/register_job.hpp"
#include "slurmtune/tune/job_requests.hpp"

namespace slurmtune {

namespace {

Expected<StudyState> state_of(const StudyDirectory& directory) {
  SLURMTUNE_TRY(const auto events, Journal(directory.journal()).read());
  return fold(events);
}

/// Those jobs of a study that hold all of it and are not over.
Expected<std::vector<JobId>> live_whole_jobs(const StudyState& state, TuningExecutor& executor) {
  std::vector<JobId> jobs;
  for (const JobRecord& job : state.jobs) {
    if (job.kind == JobKind::whole && job.job) jobs.push_back({*job.job});
  }
  if (jobs.empty()) return jobs;
  SLURMTUNE_TRY(const auto reports, executor.report(jobs));
  std::vector<JobId> live;
  for (const JobReport& report : reports) {
    if (!is_over(report.state)) live.push_back(report.job);
  }
  return live;
}

/// The script of that job: the plan's worst case, one stage after another.
JobScript whole_job_script(const StudyDirectory& directory, const StudyInput& input,
                           const Plan& plan, const StudyCreated& created) {
  JobScript script;
  script.kind = JobKind::whole;
  script.site = input.site;
  script.study_dir = directory.root().string();
  script.study_name = plan.study_name;
  script.origin = created.origin;
  script.job_name = job_name(plan.study, {}, JobKind::whole, 0);
  script.nodes_per_task = input.spec.nodes_per_task();
  script.processes_per_node = input.spec.trial.processes_per_node * input.spec.lanes_per_node;
  std::int64_t worst_s = 0;
  for (const PlannedStage& stage : plan.stages) {
    worst_s += stage.tasks_max * stage.task_walltime_s + plan.reducer_walltime_s;
  }
  if (plan.launch) worst_s += plan.launch->walltime_s;
  script.walltime = std::chrono::seconds(std::min(worst_s, input.site.walltime_max_s));
  return script;
}

}  // namespace

Expected<WholeJob> submit_whole_job(const StudyDirectory& directory, TuningExecutor& executor,
                                    const World& world) {
  SLURMTUNE_TRY(const StudyInput input, directory.read_input());
  SLURMTUNE_TRY(const Plan plan, directory.read_plan());
  SLURMTUNE_TRY(const StudyState state, state_of(directory));
  SLURMTUNE_TRY(const auto live, live_whole_jobs(state, executor));
  if (!live.empty()) return WholeJob{live.front().number, false};

  const JobScript script = whole_job_script(directory, input, plan, state.created);
  SLURMTUNE_TRY(const std::string text, render_job_script(script));
  SLURMTUNE_CHECK(make_private_directory(log_directory(script)));
  SLURMTUNE_CHECK(replace_file(script_path(script), text, Durability::cached));
  const int attempt = state.next_attempt({}, JobKind::whole);
  JobRequest request;
  request.name = job_name(plan.study, {}, JobKind::whole, attempt);
  request.script = script_path(script);
  request.workdir = directory.root().string();
  // Its name makes a second submission of the same attempt find the first one.
  SLURMTUNE_TRY(const auto found, executor.find(request.name));
  auto job = found ? Expected<JobId>(*found) : executor.submit(request);
  if (!job) return tl::unexpected<Error>(job.error());
  SLURMTUNE_CHECK(register_job(Journal(directory.journal()), world.now,
                               {.name = request.name,
                                .stage = {},
                                .kind = JobKind::whole,
                                .attempt = attempt,
                                .job = job->number,
                                .first_slice = 0,
                                .tasks = std::nullopt}));
  return WholeJob{job->number, !found};
}

Expected<void> cancel_whole_jobs(const StudyDirectory& directory, TuningExecutor& executor) {
  SLURMTUNE_TRY(const StudyState state, state_of(directory));
  SLURMTUNE_TRY(const auto live, live_whole_jobs(state, executor));
  for (const JobId job : live) SLURMTUNE_CHECK(executor.cancel(job));
  return {};
}

}  // namespace slurmtune
