// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "slurmtune/base/error.hpp"
#include "slurmtune/execute/spawn.hpp"
#include "slurmtune/runner/start/environment.hpp"
#include "slurmtune/runner/start/launcher.hpp"

namespace slurmtune {

/// What to start for a trial.
struct ProcessSpec {
  LaunchLine launch;
  Environment environment;
  std::string workdir;
};

/// How it ended.
struct ProcessEnd {
  std::optional<int> exit_code;
  std::optional<int> signal;
  double peak_bytes = 0;  ///< resident, of the largest process among it and those it waited for
};

/// Makes this process the parent of all its orphaned descendants, so that none can escape by
/// starting a session of its own. Errors: unavailable.
[[nodiscard]] Expected<void> adopt_orphans();

/// The processes of one trial on this node: a session of its own, which dies with this process
/// (SIGKILL; SIGINT for a launcher that takes its remote ranks along by it). All descendants of
/// this process that were not there at the start belong to the trial; there is one trial at a time.
class TrialProcess {
 public:
  /// Errors: unavailable, with the system's reason: no such program or directory, no permission.
  [[nodiscard]] static Expected<TrialProcess> start(const ProcessSpec& spec);
  TrialProcess(TrialProcess&& other) noexcept;
  TrialProcess& operator=(TrialProcess&&) = delete;
  /// Ends whatever is left, at once.
  ~TrialProcess();

  [[nodiscard]] int out_fd() const { return out_.get(); }
  [[nodiscard]] int err_fd() const { return err_.get(); }

  /// How the leader ended, once it has; does not wait. Reaps adopted orphans as well.
  [[nodiscard]] std::optional<ProcessEnd> poll();

  /// Sends a signal to the leader's group and to every other process of the trial on this node.
  void signal_all(int signal) const;
  /// To the leader alone.
  void signal_leader(int signal) const;
  /// Kills what is left on this node and reaps it. False if something outlived SIGKILL for
  /// 10 seconds (a process that waits for a dead file system).
  bool kill_rest();
  [[nodiscard]] RemoteEnding remote() const { return remote_; }

 private:
  TrialProcess() = default;
  void reap(pid_t which);

  pid_t pid_ = -1;
  RemoteEnding remote_ = RemoteEnding::none;
  Descriptor out_;
  Descriptor err_;
  std::optional<ProcessEnd> end_;
};

}  // namespace slurmtune
