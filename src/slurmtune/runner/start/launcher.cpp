// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/launcher.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/base/local_rank.hpp"

namespace slurmtune {

namespace {

using Argv = std::vector<std::string>;

void append(Argv& argv, const Argv& more) { argv.insert(argv.end(), more.begin(), more.end()); }

std::string program_of(const Argv& prefix) {
  if (prefix.empty()) return {};
  return prefix.front().substr(prefix.front().rfind('/') + 1);
}

/// One process for each slot of each node, started by the runner itself.
class TorchLauncher final : public RankLauncher {
 public:
  [[nodiscard]] LaunchPlan plan(const LaunchRequest& request) const override {
    LaunchPlan plan;
    const int nodes = static_cast<int>(request.nodes.size());
    RankPlace place;
    place.world_size = request.processes;
    place.local_world_size = request.processes / nodes;
    for (place.node = 0; place.node < nodes; ++place.node) {
      for (place.local_rank = 0; place.local_rank < place.local_world_size; ++place.local_rank) {
        place.rank = place.node * place.local_world_size + place.local_rank;
        Argv argv;
        for (const std::string& word : request.argv) {
          argv.push_back(with_local_rank(word, std::to_string(place.local_rank)));
        }
        plan.processes.push_back({static_cast<std::size_t>(place.node), std::move(argv),
                                  rank_environment(place), place.rank});
      }
    }
    return plan;
  }
  [[nodiscard]] bool starts_on_every_node() const override { return true; }
};

/// The user's own line, as it is.
class CommandLauncher final : public RankLauncher {
 public:
  [[nodiscard]] LaunchPlan plan(const LaunchRequest& request) const override {
    return {{{0, request.argv, {}, std::nullopt}}, RemoteEnding::none, 0};
  }
  [[nodiscard]] bool starts_on_every_node() const override { return true; }
};

/// mpirun, or whatever else takes `-n P`.
class MpirunLauncher final : public RankLauncher {
 public:
  MpirunLauncher(Argv prefix, std::string runner)
      : prefix_(std::move(prefix)), runner_(std::move(runner)) {}

  [[nodiscard]] LaunchPlan plan(const LaunchRequest& request) const override {
    Argv argv = prefix_;
    append(argv, {"-n", std::to_string(request.processes), runner_, "rank-env", "--"});
    append(argv, request.argv);
    // Elsewhere the outputs that the runner opens on its own node cannot be reached.
    const int outputs = request.nodes.size() == 1 ? request.processes : 0;
    return {{{0, argv, {}, std::nullopt}}, RemoteEnding::none, outputs};
  }
  [[nodiscard]] bool starts_on_every_node() const override { return true; }

 private:
  Argv prefix_;
  std::string runner_;
};

/// A job step inside the runner's own step. It needs --overlap (the CPUs are ours) and --mem=0 (so
/// is the memory). srun must not end the other ranks by itself when one fails: it would not wait
/// for that one's last words (seen with 22.05). The runner does it (LaneTrial).
class SrunLauncher final : public RankLauncher {
 public:
  SrunLauncher(Argv prefix, std::string runner)
      : prefix_(std::move(prefix)), runner_(std::move(runner)) {}

  [[nodiscard]] LaunchPlan plan(const LaunchRequest& request) const override {
    Argv argv = prefix_;
    append(argv, {"--overlap", "--mem=0", "--kill-on-bad-exit=0", "--quit-on-interrupt", "--label",
                  "--export=ALL", "-N", std::to_string(request.nodes.size()), "-n",
                  std::to_string(request.processes),
                  "--nodelist=" + fmt::format("{}", fmt::join(request.nodes, ",")), runner_,
                  "rank-env", "--"});
    append(argv, request.argv);
    return {{{0, argv, {}, std::nullopt}}, RemoteEnding::interrupt, 0};
  }
  [[nodiscard]] bool starts_on_every_node() const override { return false; }

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

std::unique_ptr<RankLauncher> make_launcher(Launcher kind, const Argv& trial_launch,
                                            const LauncherPlace& place) {
  switch (kind) {
    case Launcher::torch: return std::make_unique<TorchLauncher>();
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

Environment rank_environment(const RankPlace& place) {
  const std::string local_size = std::to_string(place.local_world_size);
  return {{"RANK", std::to_string(place.rank)},
          {"WORLD_SIZE", std::to_string(place.world_size)},
          {"LOCAL_RANK", std::to_string(place.local_rank)},
          {"LOCAL_WORLD_SIZE", local_size},
          {"LOCAL_SIZE", local_size},
          {"NODE_RANK", std::to_string(place.node)},
          {"GROUP_RANK", std::to_string(place.node)},
          {"ROLE_RANK", std::to_string(place.rank)},
          {"ROLE_WORLD_SIZE", std::to_string(place.world_size)}};
}

}  // namespace slurmtune
