// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "slurmtune/base/instant.hpp"

namespace slurmtune {

/// What the Autotuner needs of the world besides files and the batch system; tests replace it.
struct World {
  std::function<Instant()> now;
  std::function<void(std::chrono::milliseconds)> sleep;
  std::function<void(const std::string&)> say;  ///< progress, one line each; may be empty
  /// Whether the process `host:pid` is known to be gone; false if that cannot be told.
  std::function<bool(const std::string&)> is_dead;
  /// Whether `host:pid` is a slurmtune that runs on this host; false if that cannot be told.
  std::function<bool(const std::string&)> is_running;
  std::string who;                      ///< this process, `host:pid`
  std::optional<std::int64_t> own_job;  ///< the job, or array, that this runs in
  /// How long after an answer that lacks a job the batch system is asked again before the job is
  /// believed gone: a controller that has just started may not know its jobs yet.
  std::chrono::milliseconds absence_pause{30'000};
  /// How many nodes the partition of a job script has; asked only if a node is to be left out. May
  /// be empty, and returns nothing where that cannot be told.
  std::function<std::optional<std::int64_t>(const std::string& partition)> nodes_there;
  bool in_array = false;                          ///< this process runs in a task of an array
  bool time_follows = false;                      ///< another job goes on after this one's time
  std::function<void(std::int64_t)> after_event;  ///< called with each event won; may be empty
};

/// Set for the processes that a job starts which another job of the same study follows.
inline constexpr const char* time_follows_variable = "SLURMTUNE_TIME_FOLLOWS";

/// The real world of this process. `after_event` honours SLURMTUNE_TEST_DIE_AFTER_EVENT=n (the
/// process kills itself once it has won event n) and SLURMTUNE_TEST_STOP_AFTER_EVENT=n (it stops
/// there until somebody sends SIGCONT), so that tests can meet it at every step, and
/// SLURMTUNE_TEST_ABSENCE_PAUSE_MS=n instead of the absence_pause.
[[nodiscard]] World real_world();

}  // namespace slurmtune
