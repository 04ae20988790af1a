// SPDX-License-Identifier: MIT
//
// The runner as a job step of a real Slurm, one rank a node, its trials steps inside the step.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

#include "tests/mpi/runner/step_fixture.hpp"
#include "tests/support/catch.hpp"

namespace slurmtune {

TEST_CASE("runner: a trial is a step inside the runner's step, on the task's nodes", "[runner]") {
  StepFixture task({{"ranks"}, {"good"}}, "setup = [\"export GREETING=hello\"]");
  const ProcessResult result = task.run();
  INFO(result.out << result.err << task.log("ranks"));
  CHECK(result.status.code == 0);
  CHECK(task.verdict("ranks").outcome == Outcome::ok);
  CHECK(task.verdict("good").reason == "interval_reached");
  CHECK(task.verdict("good").nodes == task.shard()->start.nodes);
  CHECK(task.shard()->start.nodes.size() == 2);
  CHECK(task.shard()->start.ends_by.has_value());
  const std::string ranks = task.work_file("ranks", "ranks");
  const std::string addr = "127.0.0.1";  // the nodes of the test cluster are one machine
  INFO(ranks);
  CHECK(ranks.find("rank=0 world=2 local=0 of 1 1 node=0 addr=" + addr +
                   " unbuffered=1 greeting=hello") != std::string::npos);
  CHECK(ranks.find("rank=1 world=2 local=0 of 1 1 node=1 addr=" + addr) != std::string::npos);
  CHECK(task.leftovers().empty());
}

TEST_CASE("runner: of two runners on each node one works, and the nodes are counted once",
          "[runner]") {
  StepFixture task({{"short"}});
  std::replace(task.prefix.begin(), task.prefix.end(), std::string("-n2"), std::string("-n4"));
  const ProcessResult result = task.run();
  INFO(result.out << result.err);
  CHECK(result.status.code == 0);
  const std::vector<std::string> nodes = task.shard()->start.nodes;
  REQUIRE(nodes.size() == 2);
  CHECK(nodes[0] != nodes[1]);
  CHECK(task.shard()->start.allocated_nodes == 2);
  CHECK(task.verdict("short").outcome == Outcome::ok);
  CHECK(task.verdict("short").nodes == nodes);
}

TEST_CASE("runner: a crash on one node of two ends the other at once", "[runner]") {
  StepFixture task({{"crash_on_rank_1"}, {"signal_on_rank_1"}, {"oom_on_rank_1"}});
  const ProcessResult result = task.run();
  INFO(result.out << result.err);
  const Verdict crash = task.verdict("crash_on_rank_1");
  INFO(task.log("crash_on_rank_1") << "--\n" << task.log("oom_on_rank_1"));
  CHECK(crash.outcome == Outcome::crashed);
  CHECK(crash.evidence->rank == 1);
  CHECK(crash.evidence->exit_code == 3);
  CHECK(crash.evidence->node == task.shard()->start.nodes.at(1));
  CHECK(crash.evidence->line == "ValueError: rank 1 is unhappy");
  CHECK(crash.wall_s < 15.0);
  CHECK(task.verdict("signal_on_rank_1").evidence->signal == SIGSEGV);
  CHECK(task.verdict("oom_on_rank_1").outcome == Outcome::gpu_oom);
  CHECK(task.leftovers().empty());
}

TEST_CASE("runner: what hangs or will not go is ended on all nodes", "[runner]") {
  StepFixture task({{"hang", {30.0, 2.0, 60.0}}, {"stubborn", {30.0, 2.0, 60.0}}, {"good"}});
  const ProcessResult result = task.run();
  INFO(result.out << result.err);
  CHECK(task.verdict("hang").outcome == Outcome::hang);
  CHECK(task.verdict("stubborn").outcome == Outcome::hang);
  CHECK(task.verdict("stubborn").wall_s < 30.0);
  CHECK(task.verdict("good").outcome == Outcome::ok);
  CHECK(task.leftovers().empty());
}

TEST_CASE("runner: a job that is told to end writes what it has", "[runner]") {
  StepFixture task({{"hang"}, {"good"}});
  ChildProcess job = task.start();
  REQUIRE(task.wait_for_steps("hang"));
  ProcessRequest cancel;
  cancel.call.argv = {"scancel", "--signal=TERM", "--name=" + task.name()};
  REQUIRE(run_process(cancel).has_value());
  for (int round = 0; round < 300 && !job.poll(); ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  }
  CHECK(job.poll().has_value());
  CHECK(task.verdict("hang").outcome == Outcome::preempted);
  CHECK(task.verdict("good").outcome == Outcome::not_started);
  CHECK(task.shard()->end->reason == "preempted");
  CHECK(task.leftovers().empty());
}

}  // namespace slurmtune
