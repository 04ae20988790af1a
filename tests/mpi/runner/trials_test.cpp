// SPDX-License-Identifier: MIT
//
// Trials of two ranks that behave and misbehave, run by the real program.

#include <csignal>

#include "tests/mpi/runner/task_fixture.hpp"
#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

/// Runs one trial; nothing may be left of it.
Verdict run_one(TaskFixture& task, const std::string& mode) {
  const ProcessResult result = task.run();
  INFO(result.out << result.err);
  CHECK(task.leftovers().empty());
  const auto shard = task.shard();
  REQUIRE(shard.has_value());
  CHECK(shard->end.has_value());
  return task.verdict(mode);
}

Verdict run_one(const std::string& mode, TrialLimits limits = {30.0, 20.0, 60.0}) {
  TaskFixture task({{mode, limits}});
  return run_one(task, mode);
}

}  // namespace

TEST_CASE("runner: a good trial is measured and ended once its interval is tight", "[runner]") {
  TaskFixture task({{"good"}});
  const Verdict verdict = run_one(task, "good");
  CHECK(verdict.outcome == Outcome::ok);
  CHECK(verdict.reason == "interval_reached");
  CHECK(verdict.steps.measured >= 6);
  CHECK(verdict.steps.warmup == 2);
  CHECK(verdict.metrics.step_s->mid == Approx(0.05));
  CHECK(verdict.metrics.throughput->mid == Approx(320.0));
  CHECK(verdict.metrics.global_batch == 16);
  CHECK(verdict.metrics.peak_host_bytes.value() > 1e6);
  CHECK(verdict.source == "metrics_file");
  CHECK_FALSE(verdict.evidence.has_value());
  CHECK(verdict.wall_s < 30.0);
  CHECK(task.shard()->end->reason == "done");
}

TEST_CASE("runner: a trial that ends by itself is measured as far as it went", "[runner]") {
  const Verdict verdict = run_one("short");
  CHECK(verdict.outcome == Outcome::ok);
  CHECK(verdict.reason == "ended_early");
  CHECK(verdict.steps.measured == 4);
}

TEST_CASE("runner: a trial without steps, or with one, says so", "[runner]") {
  TaskFixture task({{"no_steps"}, {"single"}});
  task.run();
  CHECK(task.verdict("no_steps").outcome == Outcome::config_error);
  CHECK(task.verdict("no_steps").reason == "no_steps");
  CHECK(task.verdict("single").reason == "too_few_steps");
  CHECK(task.leftovers().empty());
}

TEST_CASE("runner: a crash on one rank of two ends both at once", "[runner]") {
  const Verdict verdict = run_one("crash_on_rank_1");
  CHECK(verdict.outcome == Outcome::crashed);
  CHECK(verdict.reason == "exit 3");
  REQUIRE(verdict.evidence.has_value());
  CHECK(verdict.evidence->rank == 1);
  CHECK(verdict.evidence->exit_code == 3);
  CHECK(verdict.evidence->line == "ValueError: rank 1 is unhappy");
  CHECK(verdict.wall_s < 15.0);
}

TEST_CASE("runner: a signal on one rank of two ends both at once", "[runner]") {
  const Verdict verdict = run_one("signal_on_rank_1");
  CHECK(verdict.outcome == Outcome::crashed);
  REQUIRE(verdict.evidence.has_value());
  CHECK(verdict.evidence->rank == 1);
  CHECK(verdict.evidence->signal == SIGSEGV);
}

TEST_CASE("runner: out of memory is known by the trial's own words", "[runner]") {
  TaskFixture task({{"oom_on_rank_1"}});
  const Verdict verdict = run_one(task, "oom_on_rank_1");
  CHECK(verdict.outcome == Outcome::gpu_oom);
  CHECK(verdict.reason == "rule:torch-cuda-oom");
  CHECK(verdict.evidence->line.find("Tried 2 GiB") != std::string::npos);
  CHECK(task.log("oom_on_rank_1").find("Tried 2 GiB") != std::string::npos);
}

TEST_CASE("runner: words of memory in a run that went well mean nothing", "[runner]") {
  const Verdict verdict = run_one("oom_words");
  CHECK(verdict.outcome == Outcome::ok);
}

TEST_CASE("runner: a trial that stops making steps is a hang", "[runner]") {
  const Verdict verdict = run_one("hang", {30.0, 2.0, 60.0});
  CHECK(verdict.outcome == Outcome::hang);
  CHECK(verdict.reason == "no_step_in_stall_s");
  CHECK(verdict.wall_s < 20.0);
}

TEST_CASE("runner: a trial that never makes a step is a hang", "[runner]") {
  const Verdict verdict = run_one("silent", {3.0, 20.0, 60.0});
  CHECK(verdict.outcome == Outcome::hang);
  CHECK(verdict.reason == "no_step_in_startup_s");
  CHECK(verdict.wall_s >= 3.0);
  CHECK(verdict.wall_s < 15.0);
}

TEST_CASE("runner: a trial that ignores SIGTERM is killed after its grace", "[runner]") {
  const Verdict verdict = run_one("stubborn", {30.0, 2.0, 60.0});
  CHECK(verdict.outcome == Outcome::hang);
  CHECK(verdict.wall_s < 25.0);
}

TEST_CASE("runner: a trial over its total limit is a timeout", "[runner]") {
  const Verdict verdict = run_one("slow", {30.0, 20.0, 4.0});
  CHECK(verdict.outcome == Outcome::timeout);
  CHECK(verdict.reason == "total_s");
}

TEST_CASE("runner: grandchildren in sessions of their own do not escape", "[runner]") {
  CHECK(run_one("escape").outcome == Outcome::ok);
}

TEST_CASE("runner: what a trial leaves behind does not hold up the next", "[runner]") {
  TaskFixture task({{"escape_and_exit"}}, {.launcher = "command"});
  const Verdict verdict = run_one(task, "escape_and_exit");
  CHECK(verdict.outcome == Outcome::ok);
  CHECK(verdict.wall_s < 10.0);
}

TEST_CASE("runner: a loss that is no number ends the trial", "[runner]") {
  const Verdict verdict = run_one("nan");
  CHECK(verdict.outcome == Outcome::nan);
  CHECK(verdict.reason == "loss_not_finite");
}

TEST_CASE("runner: a figure that overflows costs its trial, not the task", "[runner]") {
  TaskFixture task({{"overflow"}, {"short"}});
  const ProcessResult result = task.run();
  INFO(result.out << result.err);
  CHECK(task.verdict("overflow").outcome == Outcome::nan);
  CHECK(task.verdict("overflow").reason == "figure_out_of_range");
  CHECK(task.verdict("overflow").evidence->line.find("metrics.throughput") == 0);
  CHECK(task.verdict("short").outcome == Outcome::ok);
  CHECK(task.shard()->end->reason == "done");
}

TEST_CASE("runner: a trial that refuses its arguments is a configuration error", "[runner]") {
  const Verdict verdict = run_one("refuse");
  CHECK(verdict.outcome == Outcome::config_error);
  CHECK(verdict.evidence->line.find("invalid int value") != std::string::npos);
}

TEST_CASE("runner: output that fills the pipes blocks nothing and keeps its tail", "[runner]") {
  TaskFixture task({{"loud"}});
  const Verdict verdict = run_one(task, "loud");
  CHECK(verdict.outcome == Outcome::ok);
  CHECK(task.log("loud").size() == 64 * 1024);
}

TEST_CASE("runner: a program that is not there is a launch error, on any launcher", "[runner]") {
  for (const char* launcher : {"mpirun", "command"}) {
    TaskFixture task({{"good"}},
                     {.launcher = launcher, .command = {"no-such-trainer", "{p:mode}"}});
    const Verdict verdict = run_one(task, "good");
    INFO(launcher);
    CHECK(verdict.outcome == Outcome::launch_error);
    CHECK(verdict.evidence->line.find("no-such-trainer") != std::string::npos);
  }
}

TEST_CASE("runner: a full disk under a trial stops the task with exit code 3", "[runner]") {
  TaskFixture task({{"no_space"}, {"good"}});
  const ProcessResult result = task.run();
  CHECK(result.status.code == 3);
  CHECK(task.verdict("no_space").outcome == Outcome::storage_error);
  CHECK(task.shard()->verdicts.size() == 1);
  CHECK(task.shard()->end->reason == "storage_error");
}

TEST_CASE("runner: ranks are told who they are, set-up lines apply, and nothing of ours leaks",
          "[runner]") {
  TaskFixture task({{"ranks"}}, {.more = "setup = [\"export GREETING=hello\"]\nworkdir = \".\""});
  task.prefix = {"mpirun", "-n", "2", "--oversubscribe"};
  if (::geteuid() == 0) task.prefix.emplace_back("--allow-run-as-root");
  const Verdict verdict = run_one(task, "ranks");
  CHECK(verdict.outcome == Outcome::ok);
  const std::string ranks = task.work_file("ranks", "ranks");
  CHECK(ranks.find("rank=0 world=2 local=0 of 2 2 node=0 addr=127.0.0.1 unbuffered=1 "
                   "greeting=hello outer=none") != std::string::npos);
  CHECK(ranks.find("rank=1 world=2 local=1 of 2 2") != std::string::npos);
  CHECK(task.shard()->start.nodes.size() == 2);
}

}  // namespace slurmtune
