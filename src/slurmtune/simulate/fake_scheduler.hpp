// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "slurmtune/simulate/fake_script.hpp"
#include "slurmtune/simulate/manual_clock.hpp"
#include "slurmtune/study/scheduler.hpp"

namespace slurmtune {

/// A task that the fake batch system starts: one of an array, or a single job.
struct FakeTask {
  JobId job;
  std::optional<std::int64_t> task;  ///< index in the array
  std::string name;
  std::string script;
  std::vector<std::string> nodes;
  int restart = 0;  ///< how often it was requeued
  Instant started;
  std::optional<Instant> ends_by;  ///< its walltime
};

/// What a task does: how long, how it ends if nothing ends it before, and what comes of it.
struct FakeRun {
  std::chrono::milliseconds duration{0};
  JobState ending = JobState::completed;
  /// Called when the task ends, however, with the state that it ends in; `preempted` and
  /// `node_failed` also where it will be started again. May use the scheduler.
  std::function<void(JobState)> at_end;
};

using FakeBehaviour = std::function<FakeRun(const FakeTask&)>;

/// What becomes of a task that is preempted or whose node fails.
enum class Requeue { yes, no };

/// Whether the batch system keeps what it has forgotten in a database.
enum class Accounting { off, on };

struct FakeClusterOptions {
  int nodes = 4;  ///< n1, n2, …
  int cpus_per_node = 4;
  std::vector<std::string> partitions{"batch"};
  std::int64_t array_size_max = 1001;
  std::int64_t submit_jobs_max = 1'000'000;  ///< jobs that are not over, tasks counted one by one
  std::int64_t first_job = 1;                ///< its number
  std::chrono::seconds forget_after{300};    ///< MinJobAge: how long an ended job is still reported
  std::chrono::seconds requeue_delay{120};   ///< before a requeued task may start again
  Requeue requeue = Requeue::yes;
  Accounting accounting = Accounting::off;
  /// What tasks do. Empty: as their scripts say, `sleep SECONDS` and `exit CODE`.
  FakeBehaviour behaviour{};
};

/// How often the batch system was asked, answered or not.
struct FakeCalls {
  int submit = 0;
  int find = 0;
  int report = 0;
  int cancel = 0;
  int accounting = 0;
  int exclude = 0;

  bool operator==(const FakeCalls&) const = default;
};

/// A batch system in memory: nodes, arrays with throttles, afterany dependencies, begin times,
/// time limits, cancelling, requeueing, as Slurm 22.05 was measured to do. Time is a ManualClock's;
/// nothing happens but within submit and advance. Jobs start in the order of their numbers, and
/// whatever fits starts. A script with `--exclusive` takes whole nodes, any other a core of each.
///
/// Behaviours and at_end may call every function of Scheduler, and move the clock.
class FakeScheduler final : public Scheduler {
 public:
  /// `clock` must outlive the scheduler.
  explicit FakeScheduler(ManualClock& clock, FakeClusterOptions options = {});

  [[nodiscard]] Expected<JobId> submit(const JobRequest& job) override;
  [[nodiscard]] Expected<std::optional<JobId>> find(const std::string& name) override;
  [[nodiscard]] Expected<std::vector<JobReport>> report(std::span<const JobId> jobs) override;
  [[nodiscard]] Expected<std::vector<JobReport>> accounting(std::span<const JobId> jobs) override;
  [[nodiscard]] Expected<void> exclude_nodes(JobId job, const std::string& nodes) override;
  [[nodiscard]] Expected<void> cancel(JobId job) override;
  [[nodiscard]] Expected<void> cancel_tasks(JobId job, std::int64_t first,
                                            std::int64_t end) override;
  [[nodiscard]] std::string description() const override { return "fake"; }

  // --- Time ---

  /// Lets time pass, event by event.
  void advance(std::chrono::milliseconds span);
  /// Lets time pass until `done()` holds, asked after every event; false if it still does not
  /// after `limit`.
  [[nodiscard]] bool run_until(const std::function<bool()>& done, std::chrono::milliseconds limit);
  /// Lets time pass until nothing runs and nothing will; false if something does after `limit`.
  [[nodiscard]] bool run_until_idle(std::chrono::milliseconds limit);
  [[nodiscard]] bool is_idle() const;

  // --- Faults ---

  /// The next job is submitted, but its caller gets no answer.
  void lose_next_answer() { answer_lost_ = true; }
  /// Nothing is answered, and nothing asked is done, until the controller is back. Jobs go on.
  void controller_away() { away_ = true; }
  void controller_back() { away_ = false; }
  /// The next `answers` answers to `report` know no job: a controller that has just taken over.
  void forget_for(int answers) { blank_answers_ = answers; }
  /// The node is down until it is repaired; what runs there ends (see Requeue).
  void fail_node(const std::string& node);
  void repair_node(const std::string& node);
  /// Ends a running task for a more important job (see Requeue). One that does not run is left.
  void preempt(JobId job, std::optional<std::int64_t> task);

  // --- For tests ---

  [[nodiscard]] const FakeCalls& calls() const { return calls_; }
  /// The request of a job that was submitted.
  [[nodiscard]] const JobRequest& request_of(JobId job) const;
  /// The ids of all jobs ever submitted, oldest first.
  [[nodiscard]] std::vector<JobId> submitted() const;
  /// What the job is charged so far: nodes times the time that each start of each task held them;
  /// of a script without `--exclusive` the share of the core that it takes.
  [[nodiscard]] double billed_node_seconds(JobId job) const;
  /// Tasks that run now.
  [[nodiscard]] std::vector<FakeTask> running() const;

 private:
  enum class Phase { pending, running, over, gone };  ///< gone: no record is left

  struct Task {
    Phase phase = Phase::pending;
    JobState ending = JobState::unknown;  ///< once over
    int restart = 0;
    Instant not_before{};
    bool accounted = false;  ///< accounting has a record of its end
    std::vector<std::string> nodes;
    Instant started;
    Instant ends_at;  ///< running: when it ends by itself or by its walltime; over: when it ended
    FakeRun run;
  };
  struct Job {
    JobRequest request;
    FakeScript script;
    std::vector<Task> tasks;    ///< one for a single job
    double node_seconds = 0.0;  ///< billed for starts that are over
  };
  struct Node {
    int free_cpus = 0;
    bool up = true;
  };
  struct TaskKey {
    std::int64_t job = 0;
    std::size_t index = 0;
  };

  [[nodiscard]] static bool is_over(const Job& job);
  [[nodiscard]] bool dependencies_are_over(const Job& job) const;
  [[nodiscard]] bool is_throttled(const Job& job) const;
  [[nodiscard]] std::string why_pending(const Job& job, const Task& task) const;
  [[nodiscard]] Expected<FakeScript> admit(const JobRequest& job) const;
  [[nodiscard]] std::vector<std::string> free_nodes(const Job& job) const;
  [[nodiscard]] static JobReport report_of(JobId id, const Job& job, std::size_t index);
  [[nodiscard]] std::optional<Instant> next_event() const;
  [[nodiscard]] std::optional<TaskKey> next_to_start() const;
  [[nodiscard]] std::optional<TaskKey> next_to_end() const;
  [[nodiscard]] FakeTask view_of(const TaskKey& key) const;
  void settle();
  void start(const TaskKey& key);
  void end(const TaskKey& key, JobState ending);
  void requeue_or_end(const TaskKey& key, JobState ending);
  void cancel_task(const TaskKey& key);
  void forget_old();
  [[nodiscard]] Expected<void> answers() const;

  ManualClock& clock_;
  FakeClusterOptions options_;
  std::map<std::string, Node> nodes_;
  std::map<std::int64_t, Job> jobs_;
  std::int64_t next_id_;
  FakeCalls calls_;
  bool answer_lost_ = false;
  bool away_ = false;
  int blank_answers_ = 0;
  bool settling_ = false;  ///< within settle(): calls from behaviours must not nest it
};

}  // namespace slurmtune
