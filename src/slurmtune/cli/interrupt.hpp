// SPDX-License-Identifier: MIT
#pragma once

#include <csignal>

namespace slurmtune {

/// Notes SIGINT, SIGTERM and SIGUSR1 while it lives, instead of dying of them. One at a time.
class InterruptGuard {
 public:
  InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;
  ~InterruptGuard();

  /// SIGINT or SIGTERM has come.
  [[nodiscard]] static bool interrupted();
  /// SIGUSR1 has come: Slurm sends it before a job's time is over (--signal).
  [[nodiscard]] static bool time_is_up();
  static void set_time_is_up();

 private:
  struct sigaction old_int_ {};
  struct sigaction old_term_ {};
  struct sigaction old_usr1_ {};
};

}  // namespace slurmtune
