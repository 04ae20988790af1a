// SPDX-License-Identifier: MIT
#include "tests/unit/tune/simulated_study.hpp"

#include <cmath>
#include <fstream>
#include <utility>

#include <fmt/core.h>

#include "slurmtune/analyze/result_analyzer.hpp"
#include "slurmtune/plan/submit_costs.hpp"
#include "slurmtune/study/files.hpp"
#include "slurmtune/study/register_job.hpp"
#include "slurmtune/tune/create_study.hpp"
#include "slurmtune/tune/one_job.hpp"

namespace slurmtune {

namespace {

/// Passes everything on to a scheduler that outlives it: each process has an executor of its own.
class BorrowedScheduler final : public Scheduler {
 public:
  explicit BorrowedScheduler(Scheduler& scheduler, std::function<void(JobRequest&)> before = {})
      : scheduler_(scheduler), before_(std::move(before)) {}
  Expected<JobId> submit(const JobRequest& job) override {
    JobRequest changed = job;
    if (before_) before_(changed);
    return scheduler_.submit(changed);
  }
  Expected<std::optional<JobId>> find(const std::string& name) override {
    return scheduler_.find(name);
  }
  Expected<std::vector<JobReport>> report(std::span<const JobId> jobs) override {
    return scheduler_.report(jobs);
  }
  Expected<std::vector<JobReport>> accounting(std::span<const JobId> jobs) override {
    return scheduler_.accounting(jobs);
  }
  Expected<void> exclude_nodes(JobId job, const std::string& nodes) override {
    return scheduler_.exclude_nodes(job, nodes);
  }
  Expected<void> cancel(JobId job) override { return scheduler_.cancel(job); }
  Expected<void> cancel_tasks(JobId job, std::int64_t first, std::int64_t end) override {
    return scheduler_.cancel_tasks(job, first, end);
  }
  std::string description() const override { return scheduler_.description(); }

 private:
  Scheduler& scheduler_;
  std::function<void(JobRequest&)> before_;
};

constexpr std::string_view ds_config = R"({
  "train_batch_size": 64, "train_micro_batch_size_per_gpu": 1, "gradient_accumulation_steps": 16,
  "zero_optimization": {"stage": 0}, "optimizer": {"type": "Adam", "params": {"lr": 0.001}}
})";

}  // namespace

std::string SimulatedStudy::deepspeed_study() {
  return R"(format = 1
name = "simulated"
[trial]
nodes = 1
processes_per_node = 4
launcher = "srun"
command = ["train", "--deepspeed_config", "{ds_config}"]
[deepspeed]
config = "ds_config.json"
zero_stages = "all"
[batch]
micro_batch = "auto"
[measure]
startup_s = 60
stall_s = 30
[search]
rounds = 3
width = 4
)";
}

void SimulatedStudy::model_trial(const Experiment& experiment, Verdict& verdict) {
  const auto& configuration = experiment.configuration;
  const auto stage = static_cast<double>(configuration.integer("zero_stage").value_or(0));
  const auto micro = static_cast<double>(configuration.integer("micro_batch").value_or(1));
  const auto accumulation =
      static_cast<double>(configuration.integer("gradient_accumulation").value_or(1));
  const double peak = 30e9 - 6e9 * stage + 2e9 * micro;
  verdict.hardware.gpu_bytes = 40e9;
  verdict.metrics.peak_gpu_bytes = std::min(peak, 40e9);
  if (peak > 40e9) {
    verdict.outcome = Outcome::gpu_oom;
    verdict.reason = "rule:torch-cuda-oom";
    verdict.evidence = Evidence{.rank = 0,
                                .node = "n1",
                                .exit_code = 1,
                                .signal = std::nullopt,
                                .log = "logs/x",
                                .line = "CUDA out of memory"};
    return;
  }
  const double step = (0.05 + 0.01 * micro) * (1.0 + 0.03 * stage) * accumulation;
  verdict.outcome = Outcome::ok;
  verdict.reason = "interval_reached";
  verdict.metrics.step_s = Interval{step * 0.995, step, step * 1.005};
  const double samples = 4.0 * micro * accumulation;
  verdict.metrics.throughput =
      Interval{samples / (step * 1.005), samples / step, samples / (step * 0.995)};
  verdict.metrics.global_batch = static_cast<std::int64_t>(samples);
}

SimulatedStudy::SimulatedStudy(const std::string& study_toml, SubmitMode submit,
                               FakeClusterOptions cluster, const std::string& site) {
  std::ofstream(home_ / "study.toml") << study_toml;
  std::ofstream(home_ / "ds_config.json") << ds_config;
  StudyOptions options;
  options.submit = submit;
  if (!site.empty()) {
    std::ofstream(home_ / "site.toml") << site;
    options.site = home_ / "site.toml";
  }
  if (submit == SubmitMode::automatic) {
    options.submit = SubmitMode::graph;
    const auto asked = load_study(home_ / "study.toml", options);
    if (!asked) throw std::runtime_error(asked.error().message);
    options.submit = choose_submit(asked->input).mode;
  }
  const auto loaded = load_study(home_ / "study.toml", options);
  if (!loaded) throw std::runtime_error(loaded.error().message);
  const auto created = create_study(*loaded, home_.path() / "study", clock_.now());
  if (!created) throw std::runtime_error(created.error().message);
  directory_ = created->directory;
  plan_ = directory_->read_plan().value();
  cluster.behaviour = [this](const FakeTask& task) { return behave(task); };
  nodes_ = cluster.nodes;
  scheduler_ = std::make_unique<FakeScheduler>(clock_, cluster);
}

TuningExecutor SimulatedStudy::executor_of(Scheduler& scheduler) {
  ExecutorOptions options;
  options.query_interval = std::chrono::milliseconds(0);
  options.sleep = [this](std::chrono::milliseconds span) { clock_.advance(span); };
  options.now = [this] { return clock_.now(); };
  return TuningExecutor(std::make_unique<BorrowedScheduler>(scheduler, before_submit), options);
}

World SimulatedStudy::world_of(std::optional<std::int64_t> own_job) {
  World world;
  world.now = [this] {
    if (const auto other = std::exchange(before_deciding, {})) other();
    return clock_.now();
  };
  world.sleep = [this](std::chrono::milliseconds span) { clock_.advance(span); };
  // Processes run one after another here: whoever left an intent behind is gone.
  world.is_dead = [](const std::string&) { return true; };
  world.who = fmt::format("sim:{}", ++processes_);
  world.own_job = own_job;
  world.nodes_there = [this](const std::string&) { return nodes_; };
  world.time_follows = time_follows_;
  world.after_event = [this](std::int64_t number) {
    if (number == die_after_event) throw Killed{};
  };
  return world;
}

Expected<void> SimulatedStudy::submit() {
  if (state().created.submit != "one-job") {
    SLURMTUNE_CHECK(process({Role::resume, 0}));
    return {};
  }
  TuningExecutor executor = executor_of(*scheduler_);
  SLURMTUNE_CHECK(submit_whole_job(*directory_, executor, world_of(std::nullopt)));
  return {};
}

Expected<StudyState> SimulatedStudy::process(const Intent& intent,
                                             std::optional<std::int64_t> own_job) {
  TuningExecutor executor = executor_of(inner_ != nullptr ? *inner_ : *scheduler_);
  World world = world_of(own_job);
  try {
    SLURMTUNE_TRY(Autotuner autotuner, Autotuner::open(*directory_, executor, std::move(world)));
    auto state = autotuner.advance(intent);
    if (!state) last_error_ = state.error().message;
    return state;
  } catch (const Killed&) {
    return unavailable("killed");
  }
}

Expected<void> SimulatedStudy::withdraw() {
  ExecutorOptions options;
  options.sleep = [this](std::chrono::milliseconds span) { clock_.advance(span); };
  options.now = [this] { return clock_.now(); };
  TuningExecutor executor(std::make_unique<BorrowedScheduler>(*scheduler_), options);
  World world;
  world.now = [this] { return clock_.now(); };
  world.sleep = [this](std::chrono::milliseconds span) {
    (void)scheduler_->run_until([] { return false; }, span);
  };
  SLURMTUNE_TRY(Autotuner autotuner, Autotuner::open(*directory_, executor, std::move(world)));
  SLURMTUNE_TRY(const auto over, autotuner.end_all_jobs(std::chrono::seconds(60)));
  withdraw_study(*directory_, over);
  return {};
}

Expected<RetryPlan> SimulatedStudy::retry(const std::set<Outcome>& outcomes) {
  TuningExecutor executor(std::make_unique<BorrowedScheduler>(*scheduler_));
  World world;
  world.now = [this] { return clock_.now(); };
  world.who = "sim:retry";
  SLURMTUNE_TRY(Autotuner autotuner, Autotuner::open(*directory_, executor, world));
  return retry_failed(autotuner, world, outcomes);
}

void SimulatedStudy::run() { (void)scheduler_->run_until_idle(std::chrono::hours(200)); }

StudyState SimulatedStudy::state() const {
  return fold(Journal(directory_->journal()).read().value()).value();
}

StudyView SimulatedStudy::view() {
  TuningExecutor executor(std::make_unique<BorrowedScheduler>(*scheduler_));
  World world;
  world.now = [this] { return clock_.now(); };
  Autotuner autotuner = Autotuner::open(*directory_, executor, std::move(world)).value();
  return autotuner.look(Autotuner::Queue::skip).value();
}

TuningResult SimulatedStudy::result() {
  const StudyView seen = view();
  for (auto stage = seen.stages.rbegin(); stage != seen.stages.rend(); ++stage) {
    if (stage->decision && stage->decision->result) return *stage->decision->result;
  }
  const StudyInput input = directory_->read_input().value();
  const auto history = history_of(seen, seen.stages.size() - 1);
  const Stop stop = seen.state.finished ? seen.state.finished->stop : Stop::nothing_worked;
  return ResultAnalyzer(input, *plan_)
      .result(history, {.node_seconds = spent_node_seconds(seen)}, stop);
}

FakeRun SimulatedStudy::behave(const FakeTask& task) {
  // st-<8>-<stage>-<kind>-<attempt>
  const std::size_t last = task.name.rfind('-');
  const std::string body = task.name.substr(12, last - 12);
  if (dies && dies(task.name)) return {std::chrono::seconds(1), death, {}};
  if (dead_jobs.contains(body)) return {std::chrono::seconds(1), death, {}};
  if (body == "all") return run_whole(task);
  if (body == "final") {
    reduce(task, {Role::finish, 0});
    return {std::chrono::seconds(2), JobState::completed, {}};
  }
  if (body == "guard") {
    reduce(task, {Role::guard, 0});
    return {std::chrono::seconds(2), JobState::completed, {}};
  }
  const StageName stage{body.substr(0, body.size() - 2)};
  const auto index = plan_->index_of(stage);
  if (body.ends_with("-r")) {
    reduce(task, {Role::reduce, *index});
    return {std::chrono::seconds(2), JobState::completed, {}};
  }
  // As array.sbatch: first the decision that a dead reducer owes, then the slice.
  if (*index > 0 && !state().goes_by_steps()) {
    const auto owed = process({Role::reduce, *index - 1}, task.job.number);
    if (!owed) return {std::chrono::seconds(1), JobState::failed, {}};
  }
  if (array_task) return array_task(task, stage);
  return {run_slice(task, stage), JobState::completed, {}};
}

FakeRun SimulatedStudy::run_whole(const FakeTask& task) {
  // As `resume` does inside such a job: the study's jobs are run by it, on its own nodes.
  const Instant start = clock_.now();
  TuningExecutor slurm = executor_of(*scheduler_);
  const auto next = follow_whole_job(*directory_, slurm, world_of(task.job.number));
  time_follows_ = next && *next;
  FakeClusterOptions options;
  options.nodes = static_cast<int>(task.nodes.size());
  options.first_job = 1'000'000'000 + task.job.number * 1000;
  options.behaviour = [this](const FakeTask& inner) { return behave(inner); };
  FakeScheduler inner(clock_, options);
  inner_ = &inner;
  inner_end_ = *task.ends_by - std::chrono::seconds(120);
  (void)process({Role::resume, 0}, task.job.number);
  const auto over = [&] { return inner.is_idle() || clock_.now() >= *inner_end_; };
  (void)inner.run_until(
      over, std::chrono::duration_cast<std::chrono::milliseconds>(*inner_end_ - clock_.now()));
  if (!state().finished && !time_follows_) (void)process({Role::guard, 0}, task.job.number);
  inner_ = nullptr;
  inner_end_.reset();
  time_follows_ = false;
  if (state().finished) (void)cancel_whole_jobs(*directory_, slurm, task.job.number);
  return {std::chrono::duration_cast<std::chrono::milliseconds>(clock_.now() - start),
          JobState::completed,
          {}};
}

void SimulatedStudy::reduce(const FakeTask& task, const Intent& intent) {
  (void)process(intent, task.job.number);
}

std::int64_t SimulatedStudy::first_slice_of(JobId id) const {
  for (const JobRecord& job : state().jobs) {
    if (job.job == id.number) return job.first_slice;
  }
  return 0;
}

std::chrono::seconds SimulatedStudy::run_slice(const FakeTask& task, const StageName& stage) {
  const auto manifest = directory_->read_manifest(stage).value();
  constexpr std::chrono::seconds startup{10};
  constexpr std::chrono::seconds trial_time{50};
  if (!manifest) return startup;
  const std::int64_t slice = first_slice_of(task.job) + task.task.value_or(0);
  if (slice >= static_cast<std::int64_t>(manifest->slices.size())) return startup;
  std::set<ExperimentId> measured;
  const StudyState known = state();
  const auto earlier = directory_->read_shards(stage, known.jobs_of(stage, JobKind::array)).value();
  for (const Shard& shard : earlier) {
    for (const Verdict& verdict : shard.verdicts) measured.insert(verdict.experiment);
  }
  std::chrono::seconds took = startup;
  std::string reason = "done";
  std::string text;
  const auto add = [&](const ShardLine& line) { text += render_shard_line(line).value() + '\n'; };
  TaskStart start;
  start.study = manifest->study;
  start.stage = stage;
  start.slice = slice;
  start.array_job = task.job.number;
  start.task = task.task.value_or(0);
  start.nodes = task.nodes;
  start.at = clock_.now();
  start.runner = "simulated";
  add(start);
  const Slice range = manifest->slices[static_cast<std::size_t>(slice)];
  for (std::int64_t i = range.first; i < range.end; ++i) {
    const Experiment& experiment = manifest->experiments[static_cast<std::size_t>(i)];
    // Of one slice several arrays may have run a part.
    if (measured.contains(experiment.id)) continue;
    if (inner_end_ && clock_.now() + took + trial_time > *inner_end_) {
      reason = "no_time";
      break;
    }
    took += trial_time;
    Verdict verdict;
    verdict.experiment = experiment.id;
    verdict.configuration = experiment.configuration_id;
    verdict.attempt = experiment.attempt;
    verdict.nodes = task.nodes;
    verdict.started = clock_.now();
    verdict.ended = clock_.now();
    verdict.source = "simulated";
    trial(experiment, verdict);
    if (rule_of(verdict.outcome).counts_as_tried) ++runs_[experiment.id];
    add(verdict);
  }
  add(TaskEnd{.at = clock_.now(), .reason = reason, .node_seconds = took.count()});
  const auto path = directory_->verdicts(stage) / shard_name(task.job.number, slice, task.restart);
  (void)replace_file(path, text, Durability::cached);
  return took;
}

}  // namespace slurmtune
