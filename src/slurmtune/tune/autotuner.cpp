// SPDX-License-Identifier: MIT
#include "slurmtune/tune/autotuner.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "slurmtune/base/hash.hpp"
#include "slurmtune/plan/budget.hpp"
#include "slurmtune/report/outputs.hpp"
#include "slurmtune/study/files.hpp"
#include "slurmtune/study/node_faults.hpp"
#include "slurmtune/study/register_job.hpp"
#include "slurmtune/study/spending.hpp"
#include "slurmtune/study/task_time.hpp"
#include "slurmtune/tune/job_requests.hpp"

namespace slurmtune {

namespace {

/// More actions than any process of any study takes; a bound on the loop.
constexpr int actions_max = 100'000;
/// How often files are looked at again while shards are waited for.
constexpr std::chrono::milliseconds settle_step{500};
/// When jobs that were cancelled are asked about: most are gone at once; the others are given the
/// time that lies between two queries.
constexpr std::chrono::milliseconds end_step{2000};
constexpr std::chrono::milliseconds end_again{30'000};
/// How often another process's submission is looked after.
constexpr std::chrono::milliseconds submitter_step{1000};

}  // namespace

Autotuner::Autotuner(StudyDirectory directory, StudyInput input, Plan plan,
                     TuningExecutor& executor, World world)
    : directory_(std::move(directory)),
      input_(std::move(input)),
      plan_(std::move(plan)),
      executor_(&executor),
      world_(std::move(world)),
      journal_(directory_.journal(), world_.after_event) {}

Expected<Autotuner> Autotuner::open(StudyDirectory directory, TuningExecutor& executor,
                                    World world) {
  SLURMTUNE_TRY(StudyInput input, directory.read_input());
  SLURMTUNE_TRY(Plan plan, directory.read_plan());
  return Autotuner(std::move(directory), std::move(input), std::move(plan), executor,
                   std::move(world));
}

Expected<StudyState> Autotuner::advance(const Intent& intent) {
  queue_.reset();
  settled_ = false;
  silence_.clear();
  cancelled_jobs_.clear();
  const bool ends_it = intent.role == Role::cancel || intent.role == Role::guard;
  absence_ = ends_it ? Absence::believed : Absence::doubted;
  reported_ = false;
  for (int i = 0; i < actions_max; ++i) {
    SLURMTUNE_TRY(const StudyView view, see(Queue::ask));
    const auto decided = decide(view, intent, world_.now());
    if (!decided && !silence_.empty()) {
      return tl::unexpected<Error>(
          Error{decided.error().kind, decided.error().message + ": " + silence_});
    }
    SLURMTUNE_TRY(const auto action, decided);
    if (!action) return view.state;
    SLURMTUNE_CHECK(std::visit([&](const auto& body) { return act(view, body); }, *action));
  }
  return corrupt_data(fmt::format("{}: the study does not come to rest; please report this",
                                  directory_.root().string()));
}

Expected<std::set<std::int64_t>> Autotuner::end_all_jobs(std::chrono::seconds patience) {
  SLURMTUNE_TRY(const StudyView view, look(Queue::skip));
  std::vector<JobId> jobs;
  for (const JobRecord& job : view.state.jobs) {
    if (job.job) jobs.push_back({*job.job});
  }
  std::set<std::int64_t> over;
  if (jobs.empty()) return over;
  const Instant deadline = world_.now() + patience;
  std::chrono::milliseconds pause = end_step;
  for (;;) {  // ends with the jobs, or with the patience
    for (const JobId job : jobs) {
      if (!over.contains(job.number)) SLURMTUNE_CHECK(executor_->cancel(job));
    }
    world_.sleep(pause);
    pause = end_again;
    SLURMTUNE_TRY(const auto reports, executor_->report(jobs));
    for (const JobId job : jobs) over.insert(job.number);
    for (const JobReport& report : reports) {
      if (!is_over(report.state)) over.erase(report.job.number);
    }
    if (over.size() == jobs.size() || world_.now() >= deadline) return over;
  }
}

Expected<StudyView> Autotuner::look(Queue queue) {
  // What the last advance() knew of the queue is old: jobs may be gone since, by whatever hand.
  if (queue == Queue::ask) queue_.reset();
  return see(queue);
}

Expected<StudyView> Autotuner::see(Queue queue) {
  StudyView view;
  SLURMTUNE_TRY(const auto events, journal_.read());
  SLURMTUNE_TRY(view.state, fold(events));
  view.plan = plan_;
  view.plan.budget_node_seconds = budget_node_seconds(with_extension(input_, view.state.extension));
  for (const PlannedStage& stage : plan_.stages) {
    StageView& files = view.stages.emplace_back();
    SLURMTUNE_TRY(files.manifest, directory_.read_manifest(stage.name));
    SLURMTUNE_TRY(auto found, directory_.read_decision(stage.name, view.state.ends_taken_back));
    if (found) {
      files.decision = std::move(found->decision);
      files.decision_path = std::move(found->path);
    }
    if (!files.manifest) continue;
    const auto jobs = view.state.jobs_of(stage.name, JobKind::array);
    SLURMTUNE_TRY(files.shards, directory_.read_shards(stage.name, jobs, &ended_shards_));
  }
  reopen_decisions(view);
  view.settled = settled_;
  view.reported = reported_;
  view.own_job = world_.own_job;
  view.time_follows = world_.time_follows;
  const JobRecord* intent = view.state.open_intent();
  view.submitter_is_dead = intent != nullptr && world_.is_dead && world_.is_dead(intent->by);
  view.deadline_near = is_deadline_near(view);
  view.deadline_passed = view.state.deadline && world_.now() >= *view.state.deadline;
  if (queue == Queue::ask) {
    SLURMTUNE_CHECK(ask_queue(view));
    const auto faulty = faulty_nodes(view);
    const bool matters = std::any_of(faulty.begin(), faulty.end(), [&](const FaultyNode& node) {
      return !view.state.excluded_nodes.contains(node.node);
    });
    if (matters && !asked_for_nodes_ && world_.nodes_there &&
        view.state.starter() == JobStarter::batch_system) {
      asked_for_nodes_ = true;
      nodes_there_ = world_.nodes_there(input_.site.partition);
    }
    view.nodes_there = nodes_there_;
  }
  return view;
}

Expected<Journal::Append> Autotuner::append(const StudyView& view, EventBody body) {
  return journal_.append(view.state.last_event + 1, world_.now(), std::move(body));
}

bool Autotuner::is_deadline_near(const StudyView& view) const {
  if (!view.state.deadline) return false;
  const std::size_t next = std::min(current_stage(view) + 1, plan_.stages.size() - 1);
  const std::chrono::seconds needed(plan_.stages[next].task_walltime_s);
  const auto& window = view.state.created.window;
  const Instant begin = window ? window->begin_for(world_.now(), needed) : world_.now();
  return begin + needed + guard_margin > *view.state.deadline;
}

Spending Autotuner::spending_of(const StudyView& view) const {
  return {.node_seconds = spent_node_seconds(view),
          .overhead_node_seconds = overhead_node_seconds(view),
          .deadline_passed = view.deadline_near,
          .cancelled = view.state.cancelled};
}

void Autotuner::say(const std::string& line) const {
  if (world_.say) world_.say(line);
}

// --- Actions ---

Expected<void> Autotuner::act(const StudyView& view, const SubmitJob& action) {
  SLURMTUNE_TRY(JobRequest request,
                prepare_job(directory_, input_, plan_, view.state, action, world_.now()));
  if (request.begin && *request.begin <= world_.now()) request.begin.reset();
  SubmitIntended intent{.stage = action.stage,
                        .kind = action.kind,
                        .attempt = action.attempt,
                        .name = request.name,
                        .first_slice = action.first_slice,
                        .tasks = action.tasks,
                        .by = world_.who};
  SLURMTUNE_TRY(const auto appended, append(view, intent));
  if (appended == Journal::Append::lost) return {};
  auto job = executor_->submit(request);
  if (!job && job.error().kind == ErrorKind::invalid_input && !request.exclude.empty()) {
    // Better on a node that failed than nowhere.
    JobRequest anywhere = request;
    anywhere.exclude.clear();
    auto again = executor_->submit(anywhere);
    if (again) {
      say(fmt::format("{} may get every node: {}", request.name, job.error().message));
      job = std::move(again);
    }
  }
  StudyView after = view;
  after.state.last_event += 1;
  if (!job) {
    // A refusal is final: nothing was submitted. Otherwise the intent stays open, to be looked up.
    if (job.error().kind == ErrorKind::invalid_input) {
      SLURMTUNE_CHECK(append(after, SubmitLost{request.name}));
    }
    return tl::unexpected<Error>(job.error());
  }
  if (queue_) {
    queue_->asked.insert(job->number);
    queue_->live.insert(job->number);
  }
  SLURMTUNE_CHECK(register_job(journal_, world_.now,
                               {.name = request.name,
                                .stage = action.stage,
                                .kind = action.kind,
                                .attempt = action.attempt,
                                .job = job->number,
                                .first_slice = action.first_slice,
                                .tasks = action.tasks}));
  say(fmt::format("submitted {} as job {}", request.name, job->number));
  return {};
}

Expected<void> Autotuner::act(const StudyView& view, const LookUpJob& action) {
  SLURMTUNE_TRY(const auto found, executor_->find(action.name));
  if (!found) {
    SLURMTUNE_CHECK(append(view, SubmitLost{action.name}));
    return {};
  }
  const JobRecord* intent = view.state.open_intent();
  SLURMTUNE_ASSERT(intent != nullptr && intent->name == action.name);
  SLURMTUNE_CHECK(register_job(journal_, world_.now,
                               {.name = intent->name,
                                .stage = intent->stage,
                                .kind = intent->kind,
                                .attempt = intent->attempt,
                                .job = found->number,
                                .first_slice = intent->first_slice,
                                .tasks = intent->tasks}));
  queue_.reset();
  return {};
}

Expected<void> Autotuner::act(const StudyView& /*view*/, const AwaitSubmitter& /*action*/) {
  world_.sleep(submitter_step);
  return {};
}

Expected<void> Autotuner::act(const StudyView& view, const AwaitShards& action) {
  const auto deadline =
      world_.now() +
      std::chrono::milliseconds(static_cast<std::int64_t>(input_.site.fs_settle_s * 1000.0));
  const StageName& name = plan_.stages[action.stage].name;
  while (world_.now() < deadline) {
    SLURMTUNE_TRY(const StudyView again, look(Queue::skip));
    if (open_slices(again.stages[action.stage]).empty()) return {};
    world_.sleep(settle_step);
  }
  settled_ = true;
  say(fmt::format("{}: {} tasks left no task_end; what they measured counts, the rest is lost",
                  name.text, open_slices(view.stages[action.stage]).size()));
  return {};
}

Expected<void> Autotuner::act(const StudyView& view, const DropTasks& action) {
  if (action.first == 0) {
    SLURMTUNE_CHECK(executor_->cancel({action.job}));
    cancelled_jobs_.insert(action.job);
    if (queue_) queue_->live.erase(action.job);
  } else {
    SLURMTUNE_CHECK(executor_->cancel_tasks({action.job}, action.first, action.end));
  }
  SLURMTUNE_CHECK(append(view, SlicesDropped{action.stage, action.job, action.first, action.end}));
  return {};
}

Expected<void> Autotuner::act(const StudyView& /*view*/, const CancelJob& action) {
  SLURMTUNE_CHECK(executor_->cancel({action.job}));
  cancelled_jobs_.insert(action.job);
  if (queue_) queue_->live.erase(action.job);
  return {};
}

Expected<void> Autotuner::act(const StudyView& view, const RecordCancelled& /*action*/) {
  SLURMTUNE_CHECK(append(view, Cancelled{world_.who}));
  return {};
}

Expected<void> Autotuner::act(const StudyView& view, const RecordEndings& action) {
  SLURMTUNE_CHECK(append(view, TasksEnded{action.stage, action.job, action.tasks}));
  return {};
}

Expected<void> Autotuner::act(const StudyView& view, const ExcludeNodes& action) {
  StudyState after = view.state;
  after.excluded_nodes.insert(action.nodes.begin(), action.nodes.end());
  const std::string list = excluded_nodes(input_, after);
  for (const JobRecord& job : view.state.jobs) {
    if (job.kind != JobKind::array || !view.is_live(job) || job.job == view.own_job) continue;
    const auto done = executor_->exclude_nodes({*job.job}, list);
    // Later jobs leave the nodes out in any case.
    if (!done) say(fmt::format("job {} may still get them: {}", *job.job, done.error().message));
  }
  SLURMTUNE_TRY(const auto appended, append(view, NodesExcluded{action.nodes, action.why}));
  if (appended == Journal::Append::won) {
    say(fmt::format("left out from now on: {} ({})", fmt::join(action.nodes, ", "), action.why));
  }
  return {};
}

TuningResult Autotuner::result_so_far(const StudyView& view, Stop stop) const {
  const auto history = history_of(view, plan_.stages.size() - 1);
  return ResultAnalyzer(input_, view.plan).result(history, spending_of(view), stop);
}

Expected<void> Autotuner::act(const StudyView& view, const ReportSoFar& /*action*/) {
  // The window ends by itself what a deadline ends for good.
  const TuningResult result = result_so_far(view, Stop::deadline);
  SLURMTUNE_CHECK(write_outputs(directory_, input_, plan_, view, result));
  reported_ = true;
  say(
      fmt::format("partly finished: what did not fit into the window goes on in the next one with: "
                  "slurmtune resume {}",
                  directory_.root().string()));
  return {};
}

Expected<void> Autotuner::act(const StudyView& view, const FinishStudy& action) {
  TuningResult result;
  if (action.decided) {
    result = *view.stages[*action.decided].decision->result;
  } else {
    result = result_so_far(view, action.stop);
  }
  SLURMTUNE_CHECK(write_outputs(directory_, input_, plan_, view, result));
  Finished event{.stop = result.stop, .best = std::nullopt};
  if (result.best) event.best = result.best->configuration;
  SLURMTUNE_TRY(const auto appended, append(view, event));
  if (appended == Journal::Append::won) say(fmt::format("finished: {}", result.why));
  return {};
}

}  // namespace slurmtune
