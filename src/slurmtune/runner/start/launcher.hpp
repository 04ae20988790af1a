// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_spec.hpp"
#include "slurmtune/runner/start/environment.hpp"
#include "slurmtune/runner/start/process_spec.hpp"

namespace slurmtune {

/// A trial, and where its ranks go.
struct LaunchRequest {
  std::vector<std::string> argv;   ///< of one rank
  std::vector<std::string> nodes;  ///< one entry a node
  int processes = 1;               ///< ranks over all nodes, equally many on each
};

/// A process that the runner itself starts.
struct PlacedProcess {
  std::size_t node = 0;  ///< index into LaunchRequest::nodes
  std::vector<std::string> argv;
  Environment environment;  ///< what it gets besides the trial's
  std::optional<int> rank;  ///< absent for a launcher, which starts the ranks
};

/// What has to be started for a trial.
struct LaunchPlan {
  std::vector<PlacedProcess> processes;
  RemoteEnding remote = RemoteEnding::none;
  /// Ranks that a launcher starts on the first node with `rank-env`: each writes into an output of
  /// its own (LocalTrial::open_outputs).
  int rank_outputs = 0;
};

/// Puts the ranks of a trial in place. One implementation a kind of launcher.
class RankLauncher {
 public:
  virtual ~RankLauncher() = default;
  [[nodiscard]] virtual LaunchPlan plan(const LaunchRequest& request) const = 0;
  /// True if the runner starts on every node what runs there, so that the memory of all can be
  /// read and they can be bound to cores.
  [[nodiscard]] virtual bool starts_on_every_node() const = 0;
};

/// What is known about where the runner runs.
struct LauncherPlace {
  bool in_slurm_job = false;
  bool is_root = false;
  std::string runner;  ///< absolute path of slurmtune-runner, for rank-env
};

/// The launcher of a study.
/// - torch: the runner starts the ranks itself, one a slot, as torchrun would: no ssh, no hostfile.
/// - command: the user's own line, once, on the trial's first node.
/// - srun, mpirun, auto: a study says either and runs both with and without Slurm. mpirun cannot
///   start inside a job step, so within a Slurm job `mpirun` means srun, and without one `srun`
///   means mpirun. `trial_launch` (site.trial_launch) replaces the program and its options where it
///   fits: a prefix that begins with srun is not used without Slurm.
[[nodiscard]] std::unique_ptr<RankLauncher> make_launcher(
    Launcher kind, const std::vector<std::string>& trial_launch, const LauncherPlace& place);

/// The variables by which a rank knows who it is: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE,
/// LOCAL_SIZE (DeepSpeed's CPU accelerator wants it), NODE_RANK, and torchrun's GROUP_RANK,
/// ROLE_RANK and ROLE_WORLD_SIZE.
struct RankPlace {
  int rank = 0;
  int local_rank = 0;
  int node = 0;
  int world_size = 1;
  int local_world_size = 1;
};
[[nodiscard]] Environment rank_environment(const RankPlace& place);

}  // namespace slurmtune
