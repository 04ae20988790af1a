// SPDX-License-Identifier: MIT
#pragma once

#include <optional>

#include "slurmtune/base/error.hpp"
#include "slurmtune/execute/spawn.hpp"
#include "slurmtune/runner/measure/trial_watch.hpp"

namespace slurmtune {

/// Catches the signals that tell the runner to end, and SIGCHLD, for the life of the object; there
/// may be one at a time. SIGTERM and SIGUSR1 (Slurm: preemption, end of time, scancel) mean
/// preempted, SIGINT cancelled; the first one counts.
class StopSignals {
 public:
  /// Errors: unavailable.
  [[nodiscard]] static Expected<StopSignals> catch_all();
  StopSignals(StopSignals&& other) noexcept;
  StopSignals& operator=(StopSignals&&) = delete;
  ~StopSignals();

  /// What was asked, if anything was.
  [[nodiscard]] std::optional<EndReason> requested() const;

  /// Becomes readable when a signal came; for poll(2). `drain` empties it.
  [[nodiscard]] int wake_fd() const { return read_end_.get(); }
  void drain();

 private:
  StopSignals() = default;

  bool active_ = false;
  Descriptor read_end_;
  Descriptor write_end_;
};

}  // namespace slurmtune
