// SPDX-License-Identifier: MIT
//
// What becomes of a trial when somebody kills the runner, or one of the processes beside it.

#include <chrono>
#include <csignal>
#include <thread>

#include "tests/mpi/runner/task_fixture.hpp"
#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

using namespace std::chrono_literals;

/// Two seconds to hear of the end, then SIGKILL.
constexpr auto patience = 6s;

void wait(ChildProcess& child) {
  for (int round = 0; round < 600 && !child.poll(); ++round) std::this_thread::sleep_for(100ms);
  REQUIRE(child.poll().has_value());
}

/// The processes with that name, once there are any.
std::vector<pid_t> wait_for(const TaskFixture& task, const std::string& name) {
  for (int round = 0; round < 100; ++round) {
    if (auto found = task.processes(name); !found.empty()) return found;
    std::this_thread::sleep_for(50ms);
  }
  FAIL("there is no " << name);
  return {};
}

}  // namespace

TEST_CASE("runner: kill -9 leaves nothing of a trial that hides and does not listen", "[runner]") {
  for (const char* launcher : {"mpirun", "torch", "command"}) {
    TaskFixture task({{"clan"}}, {.launcher = launcher});
    ChildProcess runner = task.start();
    REQUIRE(task.wait_for_steps("clan"));
    INFO(launcher);
    // The runner, its spawner and keeper; a shell and four that hide.
    CHECK(task.processes().size() >= 8);
    ::kill(runner.pid(), SIGKILL);
    wait(runner);
    CHECK(task.leftovers(patience).empty());
  }
}

TEST_CASE("runner: a trial whose keeper is killed ends as crashed, and the next one runs",
          "[runner]") {
  for (const char* launcher : {"mpirun", "torch", "command"}) {
    TaskFixture task({{"clan"}, {"good"}}, {.launcher = launcher});
    ChildProcess runner = task.start();
    REQUIRE(task.wait_for_steps("clan"));
    INFO(launcher);
    for (const pid_t keeper : wait_for(task, "slurmtune-keep")) ::kill(keeper, SIGKILL);
    wait(runner);
    CHECK(task.verdict("clan").outcome == Outcome::crashed);
    CHECK(task.verdict("clan").wall_s < 10.0);
    CHECK(task.verdict("good").outcome == Outcome::ok);
    CHECK(task.leftovers(patience).empty());
  }
}

TEST_CASE("runner: without its spawner it says so and starts nothing more", "[runner]") {
  TaskFixture task({{"clan", {30.0, 2.0, 60.0}}, {"good"}}, {.launcher = "torch"});
  ChildProcess runner = task.start();
  REQUIRE(task.wait_for_steps("clan"));
  for (const pid_t spawner : wait_for(task, "slurmtune-spawn")) ::kill(spawner, SIGKILL);
  wait(runner);
  CHECK(task.verdict("clan").outcome == Outcome::hang);
  CHECK(task.verdict("good").outcome == Outcome::launch_error);
  CHECK(task.verdict("good").evidence->line.find("starts trials is gone") != std::string::npos);
  CHECK(task.leftovers(patience).empty());
}

}  // namespace slurmtune
