// SPDX-License-Identifier: MIT
#pragma once

#include "slurmtune/study/scheduler.hpp"

namespace slurmtune {

/// The batch system as a job of a local study sees it: only the foreground process knows the jobs,
/// and it starts none before those that it waits for are over. Nothing lives, nothing can be
/// submitted, and there is nothing to cancel.
class NoJobsScheduler final : public Scheduler {
 public:
  [[nodiscard]] Expected<JobId> submit(const JobRequest& job) override {
    return unavailable(job.name +
                       ": the jobs of a local study are started by the foreground "
                       "process; go on with it: slurmtune resume DIR");
  }
  [[nodiscard]] Expected<std::optional<JobId>> find(const std::string& /*name*/) override {
    return std::optional<JobId>();
  }
  [[nodiscard]] Expected<std::vector<JobReport>> report(std::span<const JobId> /*jobs*/) override {
    return std::vector<JobReport>();
  }
  [[nodiscard]] Expected<std::vector<JobReport>> accounting(
      std::span<const JobId> /*jobs*/) override {
    return unavailable("a local study has no accounting");
  }
  [[nodiscard]] Expected<void> exclude_nodes(JobId /*job*/, const std::string& /*nodes*/) override {
    return {};
  }
  [[nodiscard]] Expected<void> cancel(JobId /*job*/) override { return {}; }
  [[nodiscard]] Expected<void> cancel_tasks(JobId /*job*/, std::int64_t /*first*/,
                                            std::int64_t /*end*/) override {
    return {};
  }
  [[nodiscard]] std::string description() const override { return "no jobs (local study)"; }
};

}  // namespace slurmtune
