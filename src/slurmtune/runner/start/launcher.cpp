// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/launcher.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

namespace slurmtune {

namespace {

using Argv = std::vector<std::string>;

void append(Argv& argv, const Argv& more) { argv.insert(argv.end(), more.begin(), more.end()); }

std::string program_of(const Argv& prefix) {
  if (prefix.empty()) return {};
  return prefix.front().substr(prefix.front().rfind('/') + 1);
}

/// The user's own line, as it is.
class CommandLauncher final : public RankLauncher {
 public:
  [[nodiscard]] Expected<LaunchLine> line(const LaunchRequest& request) const override {
    return LaunchLine{request.argv, RemoteEnding::none};
  }
  [[nodiscard]] bool is_local() const override { return true; }
};

/// mpirun, or whatever else takes `-n P`.
class MpirunLauncher final : public RankLauncher {
 public:
  MpirunLauncher(Argv prefix, std::string runner)
      : prefix_(std::move(prefix)), runner_(std::move(runner)) {}

  [[nodiscard]] Expected<LaunchLine> line(const LaunchRequest& request) const override {
    LaunchLine line;
    line.argv = prefix_;
    append(line.argv, {"-n", std::to_string(request.processes), runner_, "rank-env", "--"});
    append(line.argv, request.argv);
    return line;
  }
  [[nodiscard]] bool is_local() const override { return true; }

 private:
  Argv prefix_;
  std::string runner_;
};

/// A job step inside the runner's own step. It needs --overlap (the CPUs are ours) and --mem=0 (so
/// is the memory). srun must not end the other ranks by itself when one fails: it would not wait
/// for that one's last words (seen with 22.05). The runner does it (TrialRun).
class SrunLauncher final : public RankLauncher {
 public:
  SrunLauncher(Argv prefix, std::string runner)
      : prefix_(std::move(prefix)), runner_(std::move(runner)) {}

  [[nodiscard]] Expected<LaunchLine> line(const LaunchRequest& request) const override {
    LaunchLine line;
    line.argv = prefix_;
    append(line.argv,
           {"--overlap", "--mem=0", "--kill-on-bad-exit=0", "--quit-on-interrupt", "--export=ALL",
            "-N", std::to_string(request.nodes.size()), "-n", std::to_string(request.processes),
            "--nodelist=" + fmt::format("{}", fmt::join(request.nodes, ",")), runner_, "rank-env",
            "--"});
    append(line.argv, request.argv);
    line.remote = RemoteEnding::interrupt;
    return line;
  }
  [[nodiscard]] bool is_local() const override { return false; }

 private:
  Argv prefix_;
  std::string runner_;
};

Argv default_mpirun(const LauncherPlace& place) {
  // More ranks than cores is a slow trial, not an error; and binding is the study's business.
  Argv argv{"mpirun", "--oversubscribe", "--bind-to", "none"};
  if (place.is_root) argv.emplace_back("--allow-run-as-root");
  return argv;
}

}  // namespace

Expected<std::unique_ptr<RankLauncher>> make_launcher(Launcher kind, const Argv& trial_launch,
                                                      const LauncherPlace& place) {
  switch (kind) {
    case Launcher::torch:
      return invalid_input(
          "trial.launcher: torch is not supported by this version yet; write launcher = \"srun\" "
          "(ranks get RANK, LOCAL_RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT as well)");
    case Launcher::command: return std::make_unique<CommandLauncher>();
    case Launcher::automatic:
    case Launcher::srun:
    case Launcher::mpirun: break;
  }
  const bool prefix_is_srun = program_of(trial_launch) == "srun";
  if (!trial_launch.empty() && !prefix_is_srun) {
    return std::make_unique<MpirunLauncher>(trial_launch, place.runner);
  }
  if (place.in_slurm_job) {
    const Argv prefix = prefix_is_srun ? trial_launch : Argv{"srun", "--mpi=pmix"};
    return std::make_unique<SrunLauncher>(prefix, place.runner);
  }
  return std::make_unique<MpirunLauncher>(default_mpirun(place), place.runner);
}

}  // namespace slurmtune
