// SPDX-License-Identifier: MIT
#include "slurmtune/execute/tuning_executor.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

namespace slurmtune {
namespace {

std::vector<JobReport> of_jobs(std::vector<JobReport> reports, std::span<const JobId> jobs) {
  std::erase_if(reports, [&](const JobReport& report) {
    return std::find(jobs.begin(), jobs.end(), report.job) == jobs.end();
  });
  return reports;
}

}  // namespace

TuningExecutor::TuningExecutor(std::unique_ptr<Scheduler> scheduler, ExecutorOptions options)
    : scheduler_(std::move(scheduler)),
      options_(std::move(options)),
      // Two processes of a study must not retry in step.
      seed_(static_cast<std::uint64_t>(::getpid()) << 32U) {
  SLURMTUNE_ASSERT(scheduler_ != nullptr);
  if (!options_.now) {
    options_.now = [] {
      return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
    };
  }
}

Backoff TuningExecutor::make_backoff() {
  return Backoff(options_.retry, Seed{seed_++}, options_.sleep);
}

bool TuningExecutor::is_worth_another_try(bool answered, Instant asked) {
  if (answered) {
    silent_since_.reset();
    return false;
  }
  if (!silent_since_) silent_since_ = asked;
  return !options_.patience || options_.now() - *silent_since_ < *options_.patience;
}

template <class Try>
auto TuningExecutor::until_answered(const Try& attempt) -> decltype(attempt()) {
  Backoff backoff = make_backoff();
  decltype(attempt()) answer = unavailable("never asked");
  while (backoff.next()) {
    const Instant asked = options_.now();
    answer = attempt();
    const bool answered = answer || answer.error().kind != ErrorKind::unavailable;
    if (!is_worth_another_try(answered, asked)) break;
  }
  return answer;
}

void TuningExecutor::pace() {
  if (!options_.submits_per_minute) return;
  constexpr std::chrono::minutes minute{1};
  const auto most =
      static_cast<std::size_t>(std::max<std::int64_t>(1, *options_.submits_per_minute));
  const auto recent = [&](Instant now) {
    while (!submitted_.empty() && now - submitted_.front() >= minute) submitted_.pop_front();
    return submitted_.size();
  };
  while (recent(options_.now()) >= most) {
    const std::chrono::milliseconds wait = submitted_.front() + minute - options_.now();
    if (options_.sleep) {
      options_.sleep(wait);
    } else {
      std::this_thread::sleep_for(wait);
    }
  }
  submitted_.push_back(options_.now());
}

Expected<JobId> TuningExecutor::submit(const JobRequest& job) {
  pace();
  Backoff backoff = make_backoff();
  Error trouble;
  for (bool first = true; backoff.next(); first = false) {
    const Instant asked = options_.now();
    if (!first) {
      // The job may be in although nobody said so.
      const auto found = scheduler_->find(job.name);
      if (!found) {
        trouble = found.error();
        if (!is_worth_another_try(false, asked)) break;
        continue;
      }
      if (*found) return **found;
    }
    auto answer = scheduler_->submit(job);
    if (answer) remember(job, *answer);
    const bool answered = answer || answer.error().kind != ErrorKind::unavailable;
    const bool again = is_worth_another_try(answered, asked);
    if (answered) return answer;
    trouble = std::move(answer).error();
    if (!again) break;
  }
  return unavailable(
      fmt::format("{}; whether the job {} was submitted is not known", trouble.message, job.name));
}

Expected<std::optional<JobId>> TuningExecutor::find(const std::string& name) {
  return until_answered([&] { return scheduler_->find(name); });
}

Expected<std::vector<JobReport>> TuningExecutor::report(std::span<const JobId> jobs) {
  const Instant now = options_.now();
  if (last_ && now >= last_->at && now - last_->at < options_.query_interval) {
    const bool known = std::all_of(jobs.begin(), jobs.end(), [&](JobId job) {
      return std::find(last_->asked.begin(), last_->asked.end(), job) != last_->asked.end();
    });
    if (known) return of_jobs(last_->reports, jobs);
  }
  return report_anew(jobs);
}

Expected<std::vector<JobReport>> TuningExecutor::report_anew(std::span<const JobId> jobs) {
  const Instant now = options_.now();
  SLURMTUNE_TRY(auto reports, until_answered([&] { return scheduler_->report(jobs); }));
  last_ = LastAnswer{.at = now, .asked = {jobs.begin(), jobs.end()}, .reports = std::move(reports)};
  return last_->reports;
}

void TuningExecutor::remember(const JobRequest& request, JobId job) {
  if (!last_) return;
  last_->asked.push_back(job);
  last_->reports.push_back({.job = job,
                            .task = std::nullopt,
                            .name = request.name,
                            .state = JobState::pending,
                            .reason = "",
                            .nodes = ""});
}

Expected<std::vector<JobReport>> TuningExecutor::accounting(std::span<const JobId> jobs) {
  if (no_accounting_) return tl::unexpected<Error>(*no_accounting_);
  auto reports = scheduler_->accounting(jobs);
  if (!reports) no_accounting_ = reports.error();
  return reports;
}

Expected<void> TuningExecutor::exclude_nodes(JobId job, const std::string& nodes) {
  return until_answered([&] { return scheduler_->exclude_nodes(job, nodes); });
}

Expected<void> TuningExecutor::cancel(JobId job) {
  last_.reset();  // it would still call the job alive
  return until_answered([&] { return scheduler_->cancel(job); });
}

Expected<void> TuningExecutor::cancel_tasks(JobId job, std::int64_t first, std::int64_t end) {
  return until_answered([&] { return scheduler_->cancel_tasks(job, first, end); });
}

}  // namespace slurmtune
