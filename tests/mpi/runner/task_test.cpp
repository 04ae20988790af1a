// SPDX-License-Identifier: MIT
//
// One array task from start to end: signals, requeues, slices, arguments.

#include <chrono>
#include <csignal>
#include <thread>

#include <unistd.h>

#include "tests/mpi/runner/task_fixture.hpp"
#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

using namespace std::chrono_literals;

/// How it ended, within a minute.
ExitStatus wait(ChildProcess& child) {
  for (int round = 0; round < 600; ++round) {
    if (const auto status = child.poll()) return *status;
    std::this_thread::sleep_for(100ms);
  }
  FAIL("the runner does not end");
  return {};
}

}  // namespace

TEST_CASE("runner: SIGTERM marks the running trial preempted and starts no other", "[runner]") {
  for (const int signal : {SIGTERM, SIGUSR1, SIGINT}) {
    TaskFixture task({{"hang"}, {"good"}});
    ChildProcess runner = task.start();
    REQUIRE(task.wait_for_steps("hang"));
    ::kill(runner.pid(), signal);
    const ExitStatus status = wait(runner);
    CHECK(status.code == 0);
    CHECK(task.leftovers().empty());
    const bool cancelled = signal == SIGINT;
    CHECK(task.verdict("hang").outcome == (cancelled ? Outcome::cancelled : Outcome::preempted));
    CHECK(task.verdict("good").outcome == Outcome::not_started);
    CHECK(task.verdict("good").reason == "no_time");
    CHECK(task.shard()->end->reason == (cancelled ? "cancelled" : "preempted"));
  }
}

TEST_CASE("runner: kill -9 leaves no process, and the next run goes on where it was", "[runner]") {
  TaskFixture task({{"short"}, {"hang", {30.0, 3.0, 60.0}}});
  ChildProcess runner = task.start();
  REQUIRE(task.wait_for_steps("hang"));
  ::kill(runner.pid(), SIGKILL);
  CHECK(wait(runner).signal == SIGKILL);
  CHECK(task.leftovers().empty());
  REQUIRE(task.shard(0).has_value());
  CHECK(task.shard(0)->verdicts.size() == 1);
  CHECK_FALSE(task.shard(0)->end.has_value());

  task.run();
  REQUIRE(task.shard(1).has_value());
  REQUIRE(task.shard(1)->verdicts.size() == 1);
  CHECK(task.verdict("hang", 1).outcome == Outcome::hang);
  CHECK(task.verdict("hang", 1).attempt == 0);
  CHECK(task.shard(1)->end->reason == "done");

  // Everything was tried: a third run only says so.
  task.run();
  REQUIRE(task.shard(2).has_value());
  CHECK(task.shard(2)->verdicts.empty());
  CHECK(task.shard(2)->end->reason == "done");
}

TEST_CASE("runner: what a lost array has tried is not run again by the one after it", "[runner]") {
  TaskFixture task({{"short"}});
  CHECK(task.run().out.find(" ok ") != std::string::npos);
  task.environment["SLURMTUNE_JOB"] = "13";
  const ProcessResult second = task.run();
  CHECK(second.status.code == 0);
  CHECK(second.out.find(" ok ") == std::string::npos);
}

TEST_CASE("runner: a preempted trial is tried again as another attempt", "[runner]") {
  TaskFixture task({{"hang", {30.0, 3.0, 60.0}}});
  ChildProcess runner = task.start();
  REQUIRE(task.wait_for_steps("hang"));
  ::kill(runner.pid(), SIGTERM);
  CHECK(wait(runner).code == 0);
  task.environment["SLURM_RESTART_COUNT"] = "1";
  task.run();
  CHECK(task.verdict("hang", 1).attempt == 1);
  CHECK(task.verdict("hang", 1).outcome == Outcome::hang);
}

TEST_CASE("runner: a trial that has no time left is not started", "[runner]") {
  TaskFixture task({{"good"}});
  const auto now = std::chrono::duration_cast<std::chrono::seconds>(
      std::chrono::system_clock::now().time_since_epoch());
  task.environment["SLURM_JOB_END_TIME"] = std::to_string(now.count() + 30);
  CHECK(task.run().status.code == 0);
  CHECK(task.verdict("good").outcome == Outcome::not_started);
  CHECK(task.verdict("good").reason == "no_time");
  CHECK(task.shard()->end->reason == "no_time");
}

TEST_CASE("runner: a slice that is empty or not there is done at once, without a shard",
          "[runner]") {
  TaskFixture task({{"good"}});
  for (const char* slice : {"1", "2", "900"}) {
    const ProcessResult result = task.run({"--slice", slice});
    CHECK(result.status.code == 0);
    CHECK(result.out.find("nothing to run") != std::string::npos);
  }
  CHECK_FALSE(task.shard().has_value());
}

TEST_CASE("runner: bad arguments and a study that cannot be run exit with 2", "[runner]") {
  TaskFixture task({{"good"}});
  CHECK(task.run({"--slice", "x"}).status.code == 2);
  CHECK(task.run({"--slice", "-1"}).status.code == 2);
  CHECK(task.run({"--slice", "0", "--nonsense"}).status.code == 2);
  const ProcessResult no_stage = task.run({"--slice", "0", "--stage", "99-none"});
  CHECK(no_stage.status.code == 2);
  task.environment["SLURMTUNE_JOB"] = "";
  const ProcessResult no_job = task.run();
  CHECK(no_job.status.code == 2);
  CHECK(no_job.err.find("SLURMTUNE_JOB") != std::string::npos);
}

TEST_CASE("runner: what the node is stands in the shard, and what a trial ran on in its verdict",
          "[runner]") {
  TaskFixture task({{"short"}}, {.launcher = "torch"});
  CHECK(task.run().status.code == 0);
  REQUIRE(task.shard()->nodes.size() == 1);
  const NodeFacts& facts = task.shard()->nodes.front().facts;
  CHECK(facts.node == task.shard()->start.nodes.front());
  CHECK(facts.cores >= 1);
  CHECK(facts.host_bytes.value_or(0) > 1e8);
  const Verdict verdict = task.verdict("short");
  CHECK(verdict.hardware.cores == facts.cores);
  CHECK(verdict.metrics.peak_host_bytes.value_or(0) > 1e5);
}

TEST_CASE("runner: bound to fewer cores than its job has, it says so and starts nothing",
          "[runner]") {
  TaskFixture task({{"good"}});
  task.prefix = {"taskset", "--cpu-list", "0"};
  task.environment["SLURM_CPUS_ON_NODE"] = "2";
  CHECK(task.run().status.code == 0);
  const Verdict verdict = task.verdict("good");
  if (::sysconf(_SC_NPROCESSORS_ONLN) < 2) {
    WARN("this machine has one core: nothing can be bound to fewer");
    return;
  }
  CHECK(verdict.outcome == Outcome::launch_error);
  CHECK(verdict.reason == "node");
  CHECK(verdict.evidence->line.find("--cpu-bind=none") != std::string::npos);
}

TEST_CASE("runner: set-up lines that fail are a launch error of every trial", "[runner]") {
  TaskFixture task({{"good"}, {"short"}}, {.more = "setup = [\"echo no such module >&2; false\"]"});
  CHECK(task.run().status.code == 0);
  for (const char* mode : {"good", "short"}) {
    CHECK(task.verdict(mode).outcome == Outcome::launch_error);
    CHECK(task.verdict(mode).evidence->line.find("no such module") != std::string::npos);
  }
}

TEST_CASE("runner: ranks that do not lead wait, and leave with the first", "[runner]") {
  TaskFixture task({{"short"}});
  task.prefix = {"mpirun", "-n", "3", "--oversubscribe"};
  if (::geteuid() == 0) task.prefix.emplace_back("--allow-run-as-root");
  const ProcessResult result = task.run();
  INFO(result.err);
  CHECK(result.status.code == 0);
  CHECK(task.verdict("short").outcome == Outcome::ok);
  CHECK(task.shard()->start.nodes.size() == 3);
  CHECK(task.leftovers().empty());
}

}  // namespace slurmtune
