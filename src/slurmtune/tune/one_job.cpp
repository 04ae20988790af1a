// SPDX-License-Identifier: MIT
#include "slurmtune/tune/one_job.hpp"

#include <algorithm>
#include <chrono>
#include <vector>

#include "slurmtune/plan/submit_costs.hpp"
#include "slurmtune/study/files.hpp"
#include "slurmtune/study/journal.hpp"
#include "slurmtune/study/register_job.hpp"
#include "slurmtune/tune/begin_time.hpp"
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
  std::sort(live.begin(), live.end());
  return live;
}

/// The script of that job: the plan's worst case, one stage after another.
JobScript whole_job_script(const StudyDirectory& directory, const StudyInput& input,
                           const Plan& plan, const StudyCreated& created) {
  JobScript script;
  script.kind = JobKind::whole;
  script.site = input.site;
  script.study_dir = directory.root().string();
  script.study_id = plan.study.text;
  script.study_name = plan.study_name;
  script.origin = created.origin;
  script.job_name = job_name(plan.study, {}, JobKind::whole, 0);
  script.nodes_per_task = input.spec.nodes_per_task();
  script.processes_per_node = input.spec.trial.processes_per_node * input.spec.lanes_per_node;
  script.walltime = std::chrono::seconds(whole_jobs(plan, site_of_whole_jobs(input)).walltime_s);
  return script;
}

/// What is known of the jobs of such a study.
struct WholeStudy {
  StudyInput input;
  Plan plan;
  StudyState state;
  std::vector<JobId> live;  ///< its jobs that run or will run, oldest first
  std::int64_t known = 0;   ///< its jobs, those that are over too
  WholeJobs needed;
};

Expected<WholeStudy> look_at(const StudyDirectory& directory, TuningExecutor& executor) {
  WholeStudy study;
  SLURMTUNE_TRY(study.input, directory.read_input());
  SLURMTUNE_TRY(study.plan, directory.read_plan());
  SLURMTUNE_TRY(study.state, state_of(directory));
  SLURMTUNE_TRY(study.live, live_whole_jobs(study.state, executor));
  study.known =
      std::count_if(study.state.jobs.begin(), study.state.jobs.end(),
                    [](const JobRecord& job) { return job.kind == JobKind::whole && job.job; });
  study.needed = whole_jobs(study.plan, site_of_whole_jobs(study.input));
  return study;
}

/// A job that was submitted, or that a submission of the same attempt had left already.
struct Submission {
  JobId job;
  bool is_new = false;
};

/// Submits the next job of a study, after `before` if there is one.
Expected<Submission> submit_next(const StudyDirectory& directory, TuningExecutor& executor,
                                 const World& world, const WholeStudy& study,
                                 std::optional<JobId> before) {
  const JobScript script =
      whole_job_script(directory, study.input, study.plan, study.state.created);
  SLURMTUNE_TRY(const std::string text, render_job_script(script));
  SLURMTUNE_CHECK(make_private_directory(log_directory(script)));
  SLURMTUNE_CHECK(replace_file(script_path(script), text, Durability::cached));
  // Counted anew: this may be the second of a chain.
  SLURMTUNE_TRY(const StudyState state, state_of(directory));
  const int attempt = state.next_attempt({}, JobKind::whole);
  JobRequest request;
  request.name = job_name(study.plan.study, {}, JobKind::whole, attempt);
  request.script = script_path(script);
  request.workdir = directory.root().string();
  if (before) request.after_any.push_back(*before);
  if (!before && !study.input.site.begin.empty()) {
    SLURMTUNE_TRY(request.begin, begin_time(study.input.site.begin, state.created_at));
    if (*request.begin <= world.now()) request.begin.reset();
  }
  if (const auto& window = state.created.window) {
    const Instant now = world.now();
    const Instant begin =
        window->begin_for(std::max(now, request.begin.value_or(now)), script.walltime);
    if (begin > now) request.begin = begin;
  }
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
  return Submission{*job, !found};
}

}  // namespace

Expected<WholeJob> submit_whole_job(const StudyDirectory& directory, TuningExecutor& executor,
                                    const World& world) {
  SLURMTUNE_TRY(WholeStudy study, look_at(directory, executor));
  WholeJob whole;
  if (study.live.empty()) {
    SLURMTUNE_TRY(const Submission first,
                  submit_next(directory, executor, world, study, std::nullopt));
    whole.is_new = first.is_new;
    study.live.push_back(first.job);
    ++study.known;
  }
  whole.job = study.live.front().number;
  if (study.input.site.jobs_can_submit) return whole;
  const auto over = study.known - static_cast<std::int64_t>(study.live.size());
  const std::int64_t wanted =
      std::min(study.input.site.submit_jobs_max, study.needed.jobs_max - over);
  while (static_cast<std::int64_t>(study.live.size()) < wanted) {
    const auto next = submit_next(directory, executor, world, study, study.live.back());
    // As many as there are go on; that Slurm takes no more is the site's word.
    if (!next && next.error().kind == ErrorKind::invalid_input) break;
    if (!next) return tl::unexpected<Error>(next.error());
    study.live.push_back(next->job);
    whole.chained.push_back(next->job.number);
  }
  return whole;
}

Expected<std::optional<std::int64_t>> follow_whole_job(const StudyDirectory& directory,
                                                       TuningExecutor& executor,
                                                       const World& world) {
  if (!world.own_job) return std::nullopt;
  SLURMTUNE_TRY(const StudyInput input, directory.read_input());
  SLURMTUNE_TRY(const Plan plan, directory.read_plan());
  if (whole_jobs(plan, site_of_whole_jobs(input)).jobs_max <= 1) return std::nullopt;
  // Submitted by hand, it is known to nobody.
  SLURMTUNE_CHECK(register_own_job(directory, world.now,
                                   {.stage = {},
                                    .kind = JobKind::whole,
                                    .job = *world.own_job,
                                    .first_slice = 0,
                                    .tasks = std::nullopt}));
  SLURMTUNE_TRY(const WholeStudy study, look_at(directory, executor));
  if (study.state.finished) return std::nullopt;
  for (const JobId job : study.live) {
    if (job.number != *world.own_job) return job.number;
  }
  const bool enough = study.known >= study.needed.jobs_max;
  if (!study.input.site.jobs_can_submit || enough) return std::nullopt;
  SLURMTUNE_TRY(const Submission next,
                submit_next(directory, executor, world, study, JobId{*world.own_job}));
  return next.job.number;
}

Expected<void> cancel_whole_jobs(const StudyDirectory& directory, TuningExecutor& executor,
                                 std::optional<std::int64_t> own_job) {
  SLURMTUNE_TRY(const StudyState state, state_of(directory));
  SLURMTUNE_TRY(const auto live, live_whole_jobs(state, executor));
  for (const JobId job : live) {
    if (job.number != own_job) SLURMTUNE_CHECK(executor.cancel(job));
  }
  return {};
}

}  // namespace slurmtune
