// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "slurmtune/study/scheduler.hpp"

namespace slurmtune {

/// A batch system that is looked for once it is asked for something: whoever merely looks at a
/// study sees its files also where there is none. Each call has the errors of `make`, too.
class LazyScheduler final : public Scheduler {
 public:
  using Make = std::function<Expected<std::unique_ptr<Scheduler>>()>;

  explicit LazyScheduler(Make make) : make_(std::move(make)) {}

  [[nodiscard]] Expected<JobId> submit(const JobRequest& job) override {
    SLURMTUNE_CHECK(open());
    return scheduler_->submit(job);
  }
  [[nodiscard]] Expected<std::optional<JobId>> find(const std::string& name) override {
    SLURMTUNE_CHECK(open());
    return scheduler_->find(name);
  }
  [[nodiscard]] Expected<std::vector<JobReport>> report(std::span<const JobId> jobs) override {
    SLURMTUNE_CHECK(open());
    return scheduler_->report(jobs);
  }
  [[nodiscard]] Expected<std::vector<JobReport>> accounting(std::span<const JobId> jobs) override {
    SLURMTUNE_CHECK(open());
    return scheduler_->accounting(jobs);
  }
  [[nodiscard]] Expected<void> exclude_nodes(JobId job, const std::string& nodes) override {
    SLURMTUNE_CHECK(open());
    return scheduler_->exclude_nodes(job, nodes);
  }
  [[nodiscard]] Expected<void> cancel(JobId job) override {
    SLURMTUNE_CHECK(open());
    return scheduler_->cancel(job);
  }
  [[nodiscard]] Expected<void> cancel_tasks(JobId job, std::int64_t first,
                                            std::int64_t end) override {
    SLURMTUNE_CHECK(open());
    return scheduler_->cancel_tasks(job, first, end);
  }
  [[nodiscard]] std::string description() const override {
    return scheduler_ ? scheduler_->description() : "not asked yet";
  }

 private:
  /// One that could not be made is looked for again at the next call.
  [[nodiscard]] Expected<void> open() {
    if (scheduler_) return {};
    SLURMTUNE_TRY(scheduler_, make_());
    return {};
  }

  Make make_;
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace slurmtune
