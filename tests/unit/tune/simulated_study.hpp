// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "slurmtune/simulate/fake_scheduler.hpp"
#include "slurmtune/simulate/manual_clock.hpp"
#include "slurmtune/study/study_directory.hpp"
#include "slurmtune/tune/autotuner.hpp"
#include "slurmtune/tune/retry.hpp"

#include "tests/support/temporary_directory.hpp"

namespace slurmtune {

/// A whole study on a simulated cluster: real files, real journal, real decisions; the batch
/// system is a FakeScheduler, trials are a function, time is moved by hand.
class SimulatedStudy {
 public:
  /// What an experiment would measure.
  using Trial = std::function<void(const Experiment&, Verdict&)>;

  /// What a task of a stage's array does, instead of running its trials in no time.
  using ArrayTask = std::function<FakeRun(const FakeTask&, const StageName&)>;

  /// A DeepSpeed study over all ZeRO stages, or what `study_toml` says. `automatic` submits as
  /// `auto` does where there is a Slurm.
  explicit SimulatedStudy(const std::string& study_toml = deepspeed_study(),
                          SubmitMode submit = SubmitMode::graph, FakeClusterOptions cluster = {},
                          const std::string& site = "");

  [[nodiscard]] static std::string deepspeed_study();

  /// Each stage of ZeRO fits larger micro-batches than the one before and is a little slower.
  static void model_trial(const Experiment& experiment, Verdict& verdict);

  /// One process of a role: opens the study, works, and may be killed after an event.
  [[nodiscard]] Expected<StudyState> process(const Intent& intent,
                                             std::optional<std::int64_t> own_job = std::nullopt);

  /// Any other process: what it does with the study.
  template <class Work>
  [[nodiscard]] auto with_autotuner(const Work& work) {
    TuningExecutor executor = executor_of(*scheduler_);
    const World world = world_of(std::nullopt);
    Autotuner tuner = Autotuner::open(*directory_, executor, world).value();
    return work(tuner, world);
  }

  /// What `submit` does after a refusal: ends the study's jobs and takes it back.
  [[nodiscard]] Expected<void> withdraw();

  /// What `submit` and `resume` do: of the graph, of the first step, or of the one job.
  [[nodiscard]] Expected<void> submit();

  /// What `retry` does, without its resume.
  [[nodiscard]] Expected<RetryPlan> retry(const std::set<Outcome>& outcomes);

  /// Lets the cluster work until nothing runs and nothing will.
  void run();

  [[nodiscard]] StudyState state() const;
  [[nodiscard]] StudyView view();
  /// The result that stands, from the last decision or as the finished event implies.
  [[nodiscard]] TuningResult result();
  /// How often each experiment was run to an end that counts.
  [[nodiscard]] std::map<ExperimentId, int> runs() const { return runs_; }

  // Faults.
  std::int64_t die_after_event = 0;  ///< the process that wins this event dies; 0 = none
  std::set<std::string> dead_jobs;   ///< jobs (by stage-kind) that die without doing anything
  std::function<bool(const std::string&)>
      dies;                               ///< jobs (by name) that do so likewise; may be empty
  JobState death = JobState::failed;      ///< what the batch system says of those
  std::function<void()> before_deciding;  ///< called once, after a process has looked
  Trial trial = model_trial;
  ArrayTask array_task;
  std::function<void(JobRequest&)> before_submit;  ///< may change what is submitted

  [[nodiscard]] FakeScheduler& cluster() { return *scheduler_; }
  [[nodiscard]] const StudyDirectory& directory() const { return *directory_; }
  [[nodiscard]] ManualClock& clock() { return clock_; }
  /// Of the task's array.
  [[nodiscard]] std::int64_t first_slice_of(JobId job) const;
  [[nodiscard]] const std::string& last_error() const { return last_error_; }

 private:
  /// What stands for a process that was killed.
  struct Killed {};

  [[nodiscard]] FakeRun behave(const FakeTask& task);
  [[nodiscard]] FakeRun run_whole(const FakeTask& task);
  [[nodiscard]] World world_of(std::optional<std::int64_t> own_job);
  [[nodiscard]] TuningExecutor executor_of(Scheduler& scheduler);
  /// Returns how long it took.
  std::chrono::seconds run_slice(const FakeTask& task, const StageName& stage);
  void reduce(const FakeTask& task, const Intent& intent);

  TemporaryDirectory home_;
  ManualClock clock_;
  std::unique_ptr<FakeScheduler> scheduler_;
  FakeScheduler* inner_ = nullptr;    ///< of the job that holds the study and runs now
  std::optional<Instant> inner_end_;  ///< when that job will be told to end
  bool time_follows_ = false;         ///< another such job goes on after it
  std::optional<StudyDirectory> directory_;
  std::optional<Plan> plan_;
  std::map<ExperimentId, int> runs_;
  std::string last_error_;
  int processes_ = 0;
  std::int64_t nodes_ = 0;
};

}  // namespace slurmtune
