// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "slurmtune/execute/process.hpp"
#include "slurmtune/study/scheduler.hpp"

namespace slurmtune {

/// What jobs see of a Slurm job that this process itself may run in.
enum class Allocation {
  hidden,  ///< nothing: they run on this machine alone
  used,    ///< everything: their steps spread over the nodes that are held
};

struct LocalOptions {
  std::int64_t last_job = 0;  ///< the highest id that the study has used; ids go on from there
  /// Tasks that run at the same time; more than one disturbs what the others measure.
  std::int64_t tasks_at_once = 1;
  Allocation allocation = Allocation::hidden;
  std::chrono::milliseconds grace{10'000};  ///< between SIGTERM and SIGKILL
  std::chrono::milliseconds poll{20};       ///< how often a running job is looked at
};

/// Runs the job scripts of a study as children of this process, with bash: the batch system of a
/// machine that has none. Honours dependencies, array order, throttles, begin times, and of the
/// #SBATCH lines --output and --time; a job sees SLURMTUNE_JOB and SLURMTUNE_TASK.
///
/// Nothing runs unless step() or run_until_idle() is called. One thread only. The destructor ends
/// what runs.
class LocalScheduler final : public Scheduler {
 public:
  explicit LocalScheduler(LocalOptions options = {});
  ~LocalScheduler() override;

  [[nodiscard]] Expected<JobId> submit(const JobRequest& request) override;
  [[nodiscard]] Expected<std::optional<JobId>> find(const std::string& name) override;
  [[nodiscard]] Expected<std::vector<JobReport>> report(std::span<const JobId> jobs) override;
  [[nodiscard]] Expected<std::vector<JobReport>> accounting(
      std::span<const JobId> /*jobs*/) override {
    return unavailable("a local study has no accounting");
  }
  /// There is one node only.
  [[nodiscard]] Expected<void> exclude_nodes(JobId /*job*/, const std::string& /*nodes*/) override {
    return {};
  }
  [[nodiscard]] Expected<void> cancel(JobId id) override;
  [[nodiscard]] Expected<void> cancel_tasks(JobId id, std::int64_t first,
                                            std::int64_t end_index) override;
  [[nodiscard]] std::string description() const override { return "local"; }

  enum class Activity { busy, waiting, idle };

  /// Looks at what runs, ends what is over its time or cancelled, and starts what may start.
  /// busy: something runs; waiting: all that is left waits for a begin time; idle: nothing is left.
  /// A task that cannot be started has failed; why is in its output file.
  Activity step();

  /// Steps until nothing is left. `keep_going` is called at every step, also while a job runs; if
  /// it returns false, what runs is ended and what waits stays. Returns whether everything has run.
  [[nodiscard]] bool run_until_idle(const std::function<bool()>& keep_going);

  /// Ends everything that runs: SIGTERM, the grace period, SIGKILL. Such tasks are cancelled.
  void end_running();

 private:
  struct Task;
  struct Job;

  Job* job_of(JobId id);
  [[nodiscard]] bool is_over(const Job& job) const;
  [[nodiscard]] bool may_start(const Job& job) const;
  void look_at(Task& task);
  void start(Job& job, Task& task);
  void end(Task& task);
  void tell_to_end(Task& task) const;

  LocalOptions options_;
  std::list<Job> jobs_;
  std::int64_t next_id_;
};

}  // namespace slurmtune
