// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "slurmtune/execute/retry.hpp"
#include "slurmtune/study/scheduler.hpp"

namespace slurmtune {

struct ExecutorOptions {
  RetryPolicy retry;
  /// The shortest time between two queries for jobs (design.md, section 9). 0 for a scheduler that
  /// is no server's.
  std::chrono::milliseconds query_interval{30'000};
  /// How long a batch system may stay silent, over all questions since its last answer, before
  /// nothing is tried again; absent: as long as `retry` takes, for each question.
  std::optional<std::chrono::milliseconds> patience;
  /// What the centre allows (site key jobs_per_minute_max); submit() waits where it would be more.
  std::optional<std::int64_t> submits_per_minute;
  Backoff::Sleep sleep;          ///< empty = really sleep
  std::function<Instant()> now;  ///< empty = the system's clock
};

/// Executes what a study has decided: submits jobs exactly once in spite of a batch system that
/// does not always answer, asks about them no more often than it may, and cancels them.
///
/// Journalling is its caller's: the intent before submit(), the id after it.
class TuningExecutor {
 public:
  explicit TuningExecutor(std::unique_ptr<Scheduler> scheduler, ExecutorOptions options = {});

  /// Submits a job. If no answer comes, looks the job up by its name before it tries again.
  /// Errors: invalid_input if the batch system refuses the job, which then does not exist;
  /// unavailable if it has not answered for all attempts, and the job may exist.
  [[nodiscard]] Expected<JobId> submit(const JobRequest& job);

  /// The job of that name, if the batch system still knows it. Errors: unavailable.
  [[nodiscard]] Expected<std::optional<JobId>> find(const std::string& name);

  /// The states of jobs, by one query; by none, from the last answer, if that is younger than the
  /// query interval and knows all of `jobs`. A job that this process has submitted since is known:
  /// as pending. Errors: unavailable.
  [[nodiscard]] Expected<std::vector<JobReport>> report(std::span<const JobId> jobs);

  /// The same by a query in any case: for what an older answer left out.
  [[nodiscard]] Expected<std::vector<JobReport>> report_anew(std::span<const JobId> jobs);

  /// What accounting tells of jobs that are over, by one question. Where there is none, or it does
  /// not answer, it is not asked again. Errors: unavailable, the same one from then on.
  [[nodiscard]] Expected<std::vector<JobReport>> accounting(std::span<const JobId> jobs);

  /// As the Scheduler's. Errors: unavailable, invalid_input.
  [[nodiscard]] Expected<void> exclude_nodes(JobId job, const std::string& nodes);

  /// Errors: unavailable. A job that is over or unknown is none.
  [[nodiscard]] Expected<void> cancel(JobId job);
  [[nodiscard]] Expected<void> cancel_tasks(JobId job, std::int64_t first, std::int64_t end);

  [[nodiscard]] Scheduler& scheduler() { return *scheduler_; }
  [[nodiscard]] std::string description() const { return scheduler_->description(); }

 private:
  struct LastAnswer {
    Instant at;
    std::vector<JobId> asked;
    std::vector<JobReport> reports;
  };

  [[nodiscard]] Backoff make_backoff();
  /// Repeats what cannot do harm twice, while nobody answers.
  template <class Try>
  auto until_answered(const Try& attempt) -> decltype(attempt());
  /// To be called with each answer, or none, to what was asked then. True if there was none and it
  /// is worth trying again.
  [[nodiscard]] bool is_worth_another_try(bool answered, Instant asked);
  /// Adds a job that was just submitted to the last answer.
  void remember(const JobRequest& request, JobId job);
  /// Waits until another job may be submitted, and counts it.
  void pace();

  std::unique_ptr<Scheduler> scheduler_;
  ExecutorOptions options_;
  std::uint64_t seed_;
  std::optional<LastAnswer> last_;
  std::optional<Error> no_accounting_;
  std::optional<Instant> silent_since_;
  std::deque<Instant> submitted_;  ///< when, within the last minute
};

}  // namespace slurmtune
