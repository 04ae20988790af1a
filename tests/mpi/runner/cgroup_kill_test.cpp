// SPDX-License-Identifier: MIT
//
// A trial that the kernel kills, in the control group that cgroup_kill.sh makes.

#include <csignal>

#include "tests/mpi/runner/task_fixture.hpp"
#include "tests/support/catch.hpp"

namespace slurmtune {

TEST_CASE("runner: the kernel takes a rank that uses too much memory, not the runner", "[runner]") {
  TaskFixture task({{"too_much"}, {"short"}}, {.launcher = "torch"});
  const ProcessResult result = task.run();
  INFO(result.out << result.err << task.log("too_much"));
  CHECK(result.status.code == 0);
  const Verdict verdict = task.verdict("too_much");
  CHECK(verdict.outcome == Outcome::host_oom);
  CHECK(verdict.reason == "rule:kernel-oom-kill");
  REQUIRE(verdict.evidence.has_value());
  CHECK(verdict.evidence->rank == 1);
  CHECK(verdict.evidence->signal == SIGKILL);
  CHECK(task.verdict("short").outcome == Outcome::ok);
  CHECK(task.leftovers().empty());
}

}  // namespace slurmtune
