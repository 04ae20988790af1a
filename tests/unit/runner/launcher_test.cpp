// SPDX-License-Identifier: MIT
#include "slurmtune/runner/start/launcher.hpp"

#include "slurmtune/base/shell_quote.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

std::string line(Launcher kind, const std::vector<std::string>& prefix, LauncherPlace place) {
  place.runner = "/r";
  const auto launcher = make_launcher(kind, prefix, place);
  if (!launcher) return launcher.error().message;
  const auto made = (*launcher)->line({{"train", "-x"}, {"n1", "n2"}, 4});
  REQUIRE(made.has_value());
  CHECK((made->remote == RemoteEnding::interrupt) == !(*launcher)->is_local());
  return shell_quote(made->argv);
}

const LauncherPlace alone{false, false, ""};
const LauncherPlace alone_as_root{false, true, ""};
const LauncherPlace in_job{true, false, ""};

const char* const step =
    " --overlap '--mem=0' '--kill-on-bad-exit=0' --quit-on-interrupt '--export=ALL' -N 2 -n 4 "
    "'--nodelist=n1,n2' /r rank-env -- train -x";

}  // namespace

TEST_CASE("make_launcher: mpirun without Slurm, a step of srun within it", "[runner]") {
  CHECK(line(Launcher::mpirun, {}, alone) ==
        "mpirun --oversubscribe --bind-to none -n 4 /r rank-env -- train -x");
  CHECK(line(Launcher::srun, {}, alone_as_root) ==
        "mpirun --oversubscribe --bind-to none --allow-run-as-root -n 4 /r rank-env -- train -x");
  CHECK(line(Launcher::srun, {}, in_job) == std::string("srun '--mpi=pmix'") + step);
  CHECK(line(Launcher::mpirun, {}, in_job) == std::string("srun '--mpi=pmix'") + step);
}

TEST_CASE("make_launcher: the site's own prefix is used where it fits", "[runner]") {
  CHECK(line(Launcher::srun, {"/usr/bin/srun", "--mpi=pmi2"}, in_job) ==
        std::string("/usr/bin/srun '--mpi=pmi2'") + step);
  CHECK(line(Launcher::srun, {"srun", "--mpi=pmi2"}, alone) ==
        "mpirun --oversubscribe --bind-to none -n 4 /r rank-env -- train -x");
  CHECK(line(Launcher::mpirun, {"mpiexec.hydra", "-bind"}, in_job) ==
        "mpiexec.hydra -bind -n 4 /r rank-env -- train -x");
}

TEST_CASE("make_launcher: a command is started as it is, torch is refused", "[runner]") {
  CHECK(line(Launcher::command, {"srun"}, in_job) == "train -x");
  CHECK(line(Launcher::torch, {}, alone).find("not supported by this version yet") !=
        std::string::npos);
}

}  // namespace slurmtune
