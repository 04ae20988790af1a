// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_spec.hpp"
#include "slurmtune/runner/start/environment.hpp"

namespace slurmtune {

/// A trial, and where its ranks go.
struct LaunchRequest {
  std::vector<std::string> argv;   ///< of one rank
  std::vector<std::string> nodes;  ///< one entry a node
  int processes = 1;               ///< ranks over all nodes
};

/// How the processes on other nodes are ended, besides by what ends with the launcher's own group.
enum class RemoteEnding {
  none,       ///< everything runs on this node
  interrupt,  ///< SIGINT to the launcher makes it kill its ranks (srun --quit-on-interrupt)
};

/// What the runner starts: the launcher with its own options, before the trial's argv.
struct LaunchLine {
  std::vector<std::string> argv;
  RemoteEnding remote = RemoteEnding::none;
};

/// Puts the ranks of a trial in place. One implementation a kind of launcher.
class RankLauncher {
 public:
  virtual ~RankLauncher() = default;
  [[nodiscard]] virtual Expected<LaunchLine> line(const LaunchRequest& request) const = 0;
  /// True if all ranks are descendants of what is started, so that their memory can be read.
  [[nodiscard]] virtual bool is_local() const = 0;
};

/// What is known about where the runner runs.
struct LauncherPlace {
  bool in_slurm_job = false;
  bool is_root = false;
  std::string runner;  ///< absolute path of slurmtune-runner, for rank-env
};

/// The launcher of a study. A study says `mpirun` or `srun` and runs both with and without Slurm:
/// mpirun cannot start inside a job step, so within a Slurm job `mpirun` means srun, and without
/// one `srun` means mpirun. `trial_launch` (site.trial_launch) replaces the program and its
/// options where it fits: a prefix that begins with srun is not used without Slurm.
/// Errors: invalid_input for torch, which this version does not support.
[[nodiscard]] Expected<std::unique_ptr<RankLauncher>> make_launcher(
    Launcher kind, const std::vector<std::string>& trial_launch, const LauncherPlace& place);

}  // namespace slurmtune
