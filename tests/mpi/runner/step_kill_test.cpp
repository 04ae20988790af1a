// SPDX-License-Identifier: MIT
//
// A rank of the runner is killed on the test cluster, in the middle of a trial on two nodes.

#include <chrono>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "slurmtune/runner/start/environment.hpp"

#include "tests/mpi/runner/step_fixture.hpp"
#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

using namespace std::chrono_literals;

std::string text_of(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

/// The runner itself, not what it forked before it was a rank.
pid_t runner_of_rank(const TaskFixture& task, const std::string& rank) {
  for (const pid_t pid : task.processes("slurmtune-runne")) {
    const std::filesystem::path proc = "/proc/" + std::to_string(pid);
    // A trial's rank under srun has one as its parent, and that has a SLURM_PROCID, too.
    if (text_of(proc / "cmdline").find("rank-env") != std::string::npos) continue;
    const Environment variables = parse_environment(text_of(proc / "environ"));
    if (variable(variables, "SLURM_PROCID") == rank) return pid;
  }
  FAIL("no rank " << rank << " of the runner");
  return -1;
}

bool ends(ChildProcess& child, std::chrono::seconds patience) {
  const auto until = std::chrono::steady_clock::now() + patience;
  while (!child.poll() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(50ms);
  }
  return child.poll().has_value();
}

void kill_rank(const char* launcher, const char* rank) {
  StepFixture task({{"short"}, {"clan", {30.0, 2.0, 60.0}}},
                   {.launcher = launcher, .nodes = 2, .processes_per_node = 1}, 2);
  ChildProcess job = task.start();
  INFO(launcher << ", rank " << rank);
  REQUIRE(task.wait_for_steps("clan"));
  ::kill(runner_of_rank(task, rank), SIGKILL);
  CHECK(ends(job, 20s));
  CHECK(task.leftovers(6s).empty());
  REQUIRE(task.shard(0).has_value());
  CHECK(task.shard(0)->verdicts.size() == 1);
  CHECK_FALSE(task.shard(0)->end.has_value());

  task.environment["SLURM_RESTART_COUNT"] = "1";
  const ProcessResult result = task.run();
  INFO(result.out << result.err);
  REQUIRE(task.shard(1).has_value());
  CHECK(task.shard(1)->start.restart == 1);
  REQUIRE(task.shard(1)->verdicts.size() == 1);
  CHECK(task.verdict("clan", 1).outcome == Outcome::hang);
  CHECK(task.leftovers(6s).empty());
}

}  // namespace

TEST_CASE("runner: its first rank killed ends the step, and the requeued task goes on",
          "[runner]") {
  kill_rank("srun", "0");
}

TEST_CASE("runner: another rank of it killed ends the step, and the requeued task goes on",
          "[runner]") {
  kill_rank("torch", "1");
}

}  // namespace slurmtune
