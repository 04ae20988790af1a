// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/launcher.hpp"

#include "slurmtune/base/shell_quote.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

LaunchPlan plan(Launcher kind, const std::vector<std::string>& prefix, LauncherPlace place) {
  place.runner = "/r";
  return make_launcher(kind, prefix, place)->plan({{"train", "-x"}, {"n1", "n2"}, 4});
}

/// What is started of a launcher that starts the ranks.
std::string line(Launcher kind, const std::vector<std::string>& prefix,
                 const LauncherPlace& place) {
  const LaunchPlan made = plan(kind, prefix, place);
  REQUIRE(made.processes.size() == 1);
  CHECK(made.processes.front().node == 0);
  CHECK_FALSE(made.processes.front().rank.has_value());
  const bool by_srun = made.remote == RemoteEnding::interrupt;
  CHECK(by_srun == !make_launcher(kind, prefix, place)->starts_on_every_node());
  return shell_quote(made.processes.front().argv);
}

const LauncherPlace alone{false, false, ""};
const LauncherPlace alone_as_root{false, true, ""};
const LauncherPlace in_job{true, false, ""};

const char* const step =
    " --overlap --mem=0 --kill-on-bad-exit=0 --quit-on-interrupt --label --export=ALL -N 2 "
    "-n 4 "
    "--nodelist=n1,n2 /r rank-env -- train -x";

}  // namespace

TEST_CASE("make_launcher: mpirun without Slurm, a step of srun within it", "[runner]") {
  CHECK(line(Launcher::mpirun, {}, alone) ==
        "mpirun --oversubscribe --bind-to none -n 4 /r rank-env -- train -x");
  CHECK(line(Launcher::srun, {}, alone_as_root) ==
        "mpirun --oversubscribe --bind-to none --allow-run-as-root -n 4 /r rank-env -- train -x");
  CHECK(line(Launcher::srun, {}, in_job) == std::string("srun --mpi=pmix") + step);
  CHECK(line(Launcher::mpirun, {}, in_job) == std::string("srun --mpi=pmix") + step);
}

TEST_CASE("make_launcher: the site's own prefix is used where it fits", "[runner]") {
  CHECK(line(Launcher::srun, {"/usr/bin/srun", "--mpi=pmi2"}, in_job) ==
        std::string("/usr/bin/srun --mpi=pmi2") + step);
  CHECK(line(Launcher::srun, {"srun", "--mpi=pmi2"}, alone) ==
        "mpirun --oversubscribe --bind-to none -n 4 /r rank-env -- train -x");
  CHECK(line(Launcher::mpirun, {"mpiexec.hydra", "-bind"}, in_job) ==
        "mpiexec.hydra -bind -n 4 /r rank-env -- train -x");
}

TEST_CASE("make_launcher: a command is started as it is", "[runner]") {
  CHECK(line(Launcher::command, {"srun"}, in_job) == "train -x");
}

TEST_CASE("make_launcher: torch starts one process a slot, each knowing who it is", "[runner]") {
  const LaunchPlan made = plan(Launcher::torch, {"srun"}, in_job);
  REQUIRE(made.processes.size() == 4);
  CHECK(made.remote == RemoteEnding::none);
  for (std::size_t i = 0; i < made.processes.size(); ++i) {
    const PlacedProcess& placed = made.processes[i];
    CHECK(placed.argv == std::vector<std::string>{"train", "-x"});
    CHECK(placed.rank == static_cast<int>(i));
    CHECK(placed.node == i / 2);
    CHECK(placed.environment.at("RANK") == std::to_string(i));
    CHECK(placed.environment.at("LOCAL_RANK") == std::to_string(i % 2));
    CHECK(placed.environment.at("NODE_RANK") == std::to_string(i / 2));
    CHECK(placed.environment.at("WORLD_SIZE") == "4");
    CHECK(placed.environment.at("LOCAL_WORLD_SIZE") == "2");
    CHECK(placed.environment.at("LOCAL_SIZE") == "2");
  }
}

TEST_CASE("make_launcher: each rank's own place on its node is filled in by torch", "[runner]") {
  const auto launcher = make_launcher(Launcher::torch, {}, alone);
  const LaunchPlan made = launcher->plan({{"train", "--local_rank={local_rank}"}, {"n1", "n2"}, 4});
  REQUIRE(made.processes.size() == 4);
  CHECK(made.processes[0].argv.back() == "--local_rank=0");
  CHECK(made.processes[1].argv.back() == "--local_rank=1");
  CHECK(made.processes[2].argv.back() == "--local_rank=0");
}

TEST_CASE("make_launcher: ranks of mpirun get outputs of their own on one node only", "[runner]") {
  const auto launcher = make_launcher(Launcher::mpirun, {}, alone);
  CHECK(launcher->plan({{"train"}, {"n1"}, 4}).rank_outputs == 4);
  CHECK(launcher->plan({{"train"}, {"n1", "n2"}, 4}).rank_outputs == 0);
}

}  // namespace slurmtune
