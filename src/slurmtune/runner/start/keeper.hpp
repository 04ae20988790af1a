// SPDX-License-Identifier: MIT
#pragma once

#include <utility>
#include <vector>

#include <sys/types.h>

#include "slurmtune/runner/start/process_spec.hpp"

namespace slurmtune {

/// Keeps the processes of one trial on one node: starts them, tells how they end, and lives until
/// none is left. It is a process by itself, single-threaded, forked by the spawner, and the parent
/// of all the trial's orphans: whatever descends from it belongs to the trial, in whatever session
/// or process group it hides. When the other end of the socket goes (the runner died, however) it
/// ends everything.
///
/// It is told: `start INDEX <ProcessSpec>` with the descriptor for the output, `signal N` (all
/// processes), `signal-leaders N` (those that it started itself), `kill`.
/// It tells: `started INDEX`, `failed INDEX WHY`, `ended INDEX CODE SIGNAL BYTES`, and at last
/// `gone` or `stuck`.
class Keeper {
 public:
  explicit Keeper(WordSocket socket) : socket_(std::move(socket)) {}

  /// Until nothing is left and nobody wants it any more.
  void run();

 private:
  struct Leader {
    int index = 0;
    pid_t pid = -1;
    RemoteEnding remote = RemoteEnding::none;
  };

  void obey(const WordSocket::Message& message);
  void start(int index, const ProcessSpec& spec, int output);
  /// Takes in who ended; true if no child is left.
  bool reap();
  void signal_all(int signal) const;
  void signal_leaders(int signal) const;
  void kill_descendants() const;
  /// Tells the trial to end, and goes on without being told what to do.
  void runner_is_gone();
  /// What has to be done now that time has passed. True once this process may leave.
  bool go_on();

  enum class Phase { serving, abandoned, killing };

  WordSocket socket_;
  std::vector<Leader> leaders_;
  Phase phase_ = Phase::serving;
  bool runner_is_there_ = true;
  double since_s_ = 0;  ///< of the phase, monotonic
};

}  // namespace slurmtune
