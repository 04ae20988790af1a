// SPDX-License-Identifier: MIT
#include "tests/unit/tune/random_study.hpp"

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/runner/task_loop.hpp"
#include "slurmtune/simulate/performance_surface.hpp"
#include "slurmtune/simulate/simulated_task.hpp"
#include "slurmtune/study/files.hpp"
#include "slurmtune/study/task_time.hpp"

namespace slurmtune {

namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

constexpr int cpus_per_node = 4;

FakeClusterOptions cluster_of(int nodes, seconds requeue_delay) {
  FakeClusterOptions options;
  options.nodes = nodes;
  options.cpus_per_node = cpus_per_node;
  options.requeue_delay = requeue_delay;
  return options;
}

}  // namespace

RandomStudy::RandomStudy(std::uint64_t seed) : random_(Seed{seed}) {
  const std::string toml = draw_study();
  const int nodes = static_cast<int>(between(3, 8));
  const seconds delay(between(30, 3600));
  harm_ = chance(0.3) ? 0.0 : 0.6 * random_.uniform();
  silence_ = chance(0.5) ? 0.0 : 0.1 * random_.uniform();
  if (is_tight_ && chance(0.5)) silence_ = 0.9;
  what_ = fmt::format("seed {}, {} nodes, harm {:.2f}, silence {:.2f}\n{}", seed, nodes, harm_,
                      silence_, toml);
  const std::string site = fmt::format(
      "format = 1\nname = \"drawn\"\nprobe_tasks = false\ncpus_per_node = {}\n"
      "gpus_per_node = 4\nmin_task_minutes = {}\nwalltime_max_s = {}\nfs_settle_s = 0\n",
      cpus_per_node, between(1, 30), 3600 * between(2, 8));
  TrainingFacts facts;
  facts.params = 2e8 * static_cast<double>(between(1, 6));
  facts.data_parallel = 4;
  facts.startup_s = static_cast<double>(between(5, 50));
  const Surface good = training_surface(facts);
  const auto odd = static_cast<std::uint64_t>(between(2, 6));
  const Surface drawn = [good, odd](const Configuration& configuration) {
    SurfacePoint point = good(configuration);
    const std::size_t draw = std::hash<std::string>{}(configuration_id(configuration).text);
    if (draw % odd == 0) point.outcome = Outcome::hang;
    if (draw % odd == 1) point.outcome = Outcome::crashed;
    return point;
  };
  surface_ = std::make_unique<PerformanceSurface>(drawn, SurfaceNoise{}, Seed{seed});
  const SubmitMode submit = chance(0.5) ? SubmitMode::step : SubmitMode::graph;
  // Of a tight budget the smallest that the plan is admitted to, or nearly so.
  for (int raised = 0; study_ == nullptr; ++raised) {
    try {
      study_ = std::make_unique<SimulatedStudy>(toml + budget_line(), submit,
                                                cluster_of(nodes, delay), site);
    } catch (const std::runtime_error& refused) {
      what_ += refused.what();
      constexpr int raised_max = 40;
      if (!is_tight_ || raised == raised_max) return;
      *cap_node_seconds_ *= 1.1;
    }
  }
  what_ += budget_line();
  study_->array_task = [this](const FakeTask& task, const StageName& stage) {
    return array_task(task, stage);
  };
  study_->before_submit = [this](JobRequest& job) {
    if (!job.array_tasks || !chance(0.3)) return;  // it waits for others
    const Instant later = study_->clock().now() + minutes(between(1, 600));
    job.begin = std::max(job.begin.value_or(later), later);
  };
}

RandomStudy::~RandomStudy() = default;

std::int64_t RandomStudy::between(std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(random_.below(static_cast<std::uint64_t>(high - low + 1)));
}

std::string RandomStudy::draw_study() {
  std::string toml = fmt::format(
      "format = 1\nname = \"drawn\"\n[trial]\nnodes = {}\nprocesses_per_node = 4\n"
      "launcher = \"srun\"\ncommand = [\"train\", \"{{ds_config}}\"]\n"
      "[deepspeed]\nconfig = \"ds_config.json\"\nzero_stages = \"all\"\n"
      "[batch]\nmicro_batch = \"auto\"\n[measure]\nstartup_s = {}\nstall_s = {}\nmax_steps = 10\n"
      "[search]\nrounds = {}\nwidth = {}\n[budget]\n",
      between(1, 2), between(60, 400), between(30, 120), between(1, 4), between(2, 8));
  is_tight_ = chance(0.6);
  if (is_tight_) {
    cap_node_seconds_ = 3600.0;
  } else if (chance(0.7)) {
    cap_node_seconds_ = (4.0 + 40.0 * random_.uniform() * random_.uniform()) * 3600.0;
  }
  if (chance(0.3)) {
    cap_experiments_ = between(36, 80);
    toml += fmt::format("max_experiments = {}\n", *cap_experiments_);
  }
  if (chance(0.3)) toml += fmt::format("max_concurrent_nodes = {}\n", between(2, 6));
  has_window_ = chance(0.4);
  if (has_window_) toml += "window = \"20:00-07:00\"\n";
  if (chance(0.4)) {
    toml += fmt::format("finish_by = \"{}\"\n",
                        format_instant(ManualClock::evening + minutes(between(30, 3000))));
  }
  return toml;
}

std::string RandomStudy::budget_line() const {
  if (!cap_node_seconds_) return "";
  return fmt::format("max_node_hours = {}\n", *cap_node_seconds_ / 3600.0);
}

FakeRun RandomStudy::array_task(const FakeTask& task, const StageName& stage) {
  const StudyDirectory& directory = study_->directory();
  const auto manifest = directory.read_manifest(stage).value();
  const std::int64_t slice = study_->first_slice_of(task.job) + task.task.value_or(0);
  const FakeRun nothing_to_do{seconds(2), JobState::completed, {}};
  if (!manifest || slice >= std::ssize(manifest->slices)) return nothing_to_do;
  const StudyState state = study_->state();
  const auto jobs = state.jobs_of(stage, JobKind::array);
  std::vector<Shard> earlier = directory.read_shards(stage, jobs).value();
  std::erase_if(earlier, [&](const Shard& shard) { return shard.start.slice != slice; });
  const auto before = [&](const Shard& shard) {
    return shard.start.array_job == task.job.number && shard.start.restart == task.restart - 1;
  };
  // As array.sbatch looks before anything else.
  if (cap_node_seconds_ && task.restart > 0 && std::ranges::none_of(earlier, before)) {
    return nothing_to_do;
  }
  if (chance(silence_)) return {hours(1000), JobState::completed, {}};  // hangs until its limit
  const std::vector<Experiment> open = open_experiments(*manifest, slice, earlier);
  if (open.empty() && earlier.empty()) return nothing_to_do;
  const TaskLimit limit = task_limit({.array_job = task.job.number,
                                      .slice = slice,
                                      .restart = task.restart,
                                      .started = task.started,
                                      .job_ends_by = task.ends_by,
                                      .walltime_s = manifest->task_walltime_s,
                                      .has_budget = cap_node_seconds_.has_value(),
                                      .window = state.created.window,
                                      .deadline = state.deadline},
                                     earlier);
  Manifest rest = *manifest;
  rest.experiments = open;
  rest.slices.assign(static_cast<std::size_t>(slice) + 1, {0, 0});
  rest.slices.back() = {0, std::ssize(open)};
  const RunnerPlace place{.slice = slice,
                          .array_job = task.job.number,
                          .task = task.task.value_or(0),
                          .restart = task.restart,
                          .nodes = task.nodes,
                          .started = task.started,
                          .ends_by = limit.ends_by,
                          .judged = {}};
  const auto run = std::make_shared<SimulatedTask>(rest, place, *surface_);
  const auto at_end = [this, run, task, stage, slice, reason = limit.reason](JobState ending) {
    auto lines = run->shard(ending, study_->clock().now());
    const bool left_some = std::ranges::any_of(lines, [](const ShardLine& line) {
      const auto* verdict = std::get_if<Verdict>(&line);
      return verdict != nullptr && verdict->outcome == Outcome::not_started;
    });
    if (auto* end = std::get_if<TaskEnd>(&lines.back()); end != nullptr && left_some) {
      end->reason = reason;
    }
    write_shard(task, stage, slice, std::move(lines));
  };
  return {run->duration() + seconds(1), JobState::completed, at_end};
}

void RandomStudy::write_shard(const FakeTask& task, const StageName& stage, std::int64_t slice,
                              std::vector<ShardLine> lines) {
  const auto window = study_->state().created.window;
  for (const ShardLine& line : lines) {
    const auto* verdict = std::get_if<Verdict>(&line);
    if (verdict == nullptr || verdict->outcome == Outcome::not_started) continue;
    const OutcomeRule& rule = rule_of(verdict->outcome);
    if (rule.counts_as_tried && rule.retry == Retry::never) ++measured_[verdict->experiment];
    if (!window) continue;
    const TimeSpan open = window->span_at(verdict->started);
    if (!open.contains(verdict->started) || verdict->ended > open.end) left_the_window_ = true;
  }
  const auto path =
      study_->directory().verdicts(stage) / shard_name(task.job.number, slice, task.restart);
  (void)replace_file(path, render_shard(lines).value(), Durability::cached);
}

void RandomStudy::do_harm() {
  FakeScheduler& cluster = study_->cluster();
  for (const std::string& node : std::exchange(down_, {})) cluster.repair_node(node);
  if (!chance(harm_)) return;
  std::vector<FakeTask> tasks = cluster.running();
  std::erase_if(tasks, [](const FakeTask& task) { return !task.task; });
  if (tasks.empty()) return;
  const FakeTask& victim = tasks[random_.below(tasks.size())];
  switch (random_.below(4)) {
    case 0:
    case 1: cluster.preempt(victim.job, victim.task); break;
    case 2:
      down_.insert(victim.nodes.front());
      cluster.fail_node(victim.nodes.front());
      break;
    default: (void)cluster.cancel_tasks(victim.job, *victim.task, *victim.task + 1); break;
  }
}

void RandomStudy::run() {
  constexpr int evenings_max = 12;
  constexpr int steps_max = 400;
  const auto deadline = study_->state().deadline;
  const auto check_deadline = [&] {
    if (!deadline || study_->clock().now() < *deadline) return;
    if (!study_->state().finished) missed_deadline_ = true;
  };
  for (int evening = 0; evening < evenings_max; ++evening) {
    (void)study_->process({Role::resume, 0});
    for (int step = 0; step < steps_max && !study_->cluster().is_idle(); ++step) {
      auto span = std::chrono::milliseconds(minutes(between(2, 60)));
      const Instant now = study_->clock().now();
      if (deadline && now < *deadline) span = std::min(span, *deadline - now);
      study_->cluster().advance(span);
      check_deadline();
      do_harm();
    }
    if (study_->state().finished) return;
    study_->cluster().advance(hours(between(1, 12)));
  }
}

double RandomStudy::billed_node_seconds() const {
  double billed = 0.0;
  for (const JobId job : study_->cluster().submitted()) {
    billed += study_->cluster().billed_node_seconds(job);
  }
  return billed;
}

}  // namespace slurmtune
