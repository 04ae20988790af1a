// SPDX-License-Identifier: MIT
#pragma once

#include <sys/types.h>

#include "slurmtune/runner/start/words.hpp"

namespace slurmtune {

/// A process beside the runner that forks a keeper (keeper.hpp) for each trial. It is forked
/// before MPI_Init, because afterwards there are threads and registered memory, with which fork()
/// is not safe, and because a small process forks fast. It has a session of its own: what is sent
/// to the runner's process group does not reach it. If a keeper is killed, it kills the trial that
/// the keeper left. It leaves when the runner and all keepers have.
class Spawner {
 public:
  /// Call it before anything else starts threads. Errors: unavailable.
  [[nodiscard]] static Expected<Spawner> start();
  Spawner(Spawner&& other) noexcept;
  Spawner& operator=(Spawner&&) = delete;
  /// Lets it leave, and waits for that.
  ~Spawner();

  /// Forks a keeper and gives our end of its socket. Errors: unavailable.
  [[nodiscard]] Expected<WordSocket> fork_keeper();

 private:
  Spawner() = default;

  WordSocket socket_;
  pid_t pid_ = -1;
};

}  // namespace slurmtune
