// SPDX-License-Identifier: MIT
//
// Every outcome, by a process that really ends so (fault.sh), under torch and srun, on one node and
// on two of the test cluster. Prints the table.

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "tests/mpi/runner/step_fixture.hpp"
#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

using namespace std::chrono_literals;

constexpr TrialLimits usual{20.0, 15.0, 40.0};

/// One way to end.
struct Case {
  const char* name;
  Outcome outcome;
  const char* reason;  ///< what the verdict's begins with
  TrialLimits limits = usual;
  std::optional<int> rank = std::nullopt;    ///< the one that fails, where only one does
  std::optional<int> signal = std::nullopt;  ///< by which it ends
};
// After a storage_error a task starts nothing more.
const std::vector<Case> cases{
    {"ok", Outcome::ok, ""},
    {"gpu_oom", Outcome::gpu_oom, "rule:minitrain-oom"},
    {"host_oom", Outcome::host_oom, "rule:python-memory", usual, 1},
    {"nan", Outcome::nan, "loss_not_finite"},
    {"timeout", Outcome::timeout, "total_s", {20.0, 15.0, 3.0}},
    {"hang", Outcome::hang, "no_step_in_stall_s", {20.0, 2.0, 40.0}},
    {"config_error_flag", Outcome::config_error, "rule:"},
    {"config_error_batch", Outcome::config_error, "rule:"},
    {"launch_error_module", Outcome::launch_error, "rule:python-module"},
    {"launch_error_program", Outcome::launch_error, "rule:no-command"},
    {"crashed_signal", Outcome::crashed, "", usual, 1, SIGSEGV},
    {"crashed_abort", Outcome::crashed, "", usual, 1, SIGABRT},
    {"crashed_exit", Outcome::crashed, "exit 1", usual, 1},
    {"ok_after_all", Outcome::ok, ""},
    {"storage_error", Outcome::storage_error, "rule:no-space", usual, 1},
};

/// SIGTERM to a trial that is given up, its last words, and the keepers' grace.
constexpr double ending_max_s = 16.0;

struct Place {
  const char* launcher;
  int nodes;

  [[nodiscard]] TaskFixture::Options options(int lanes = 1) const {
    return {.launcher = launcher,
            .command = {SLURMTUNE_SOURCE_DIR "/tests/mpi/runner/fault.sh", "{p:mode}"},
            .more = "env = { PATH = \"" SLURMTUNE_BIN_DIR ":/usr/bin:/bin\" }",
            .nodes = nodes,
            .processes_per_node = 2 / nodes,
            .lanes = lanes};
  }
};

void print_row(const std::string& name, const Place& place, const Verdict& verdict) {
  const std::string line = verdict.evidence ? verdict.evidence->line.substr(0, 60) : "";
  fmt::print("{:<21} {:<6} {:>5}  {:<13} {:<21} {:>5.1f}  {}\n", name, place.launcher, place.nodes,
             name_of(verdict.outcome), verdict.reason, verdict.wall_s, line);
  std::fflush(stdout);
}

/// Slurm 22.05's PMIx now and then never lets a step of two nodes inside a step begin. The runner
/// says then what it saw, a trial that hangs at its start; that is no fault of the case.
bool never_began(const Case& one, const Place& place, const Verdict& verdict) {
  return std::string(place.launcher) == "srun" && place.nodes == 2 &&
         verdict.reason == "no_step_in_startup" && one.outcome != Outcome::hang;
}

void check_case(const Case& one, const Place& place, const TaskFixture& task) {
  const Verdict verdict = task.verdict(one.name);
  print_row(one.name, place, verdict);
  if (never_began(one, place, verdict)) {
    WARN(one.name << ": PMIx did not let the step begin");
    return;
  }
  INFO(one.name << ", " << place.launcher << ", " << place.nodes << " nodes\n"
                << task.log(one.name));
  CHECK(verdict.outcome == one.outcome);
  CHECK(verdict.reason.substr(0, std::string(one.reason).size()) == one.reason);
  if (one.rank) CHECK(verdict.evidence->rank == one.rank);
  if (one.signal) CHECK(verdict.evidence->signal == one.signal);
  CHECK(verdict.wall_s < one.limits.total_s + ending_max_s);
  CHECK(verdict.nodes.size() == static_cast<std::size_t>(place.nodes));
}

void run_cases(const Place& place) {
  std::vector<TaskFixture::Trial> trials;
  for (const Case& one : cases) trials.push_back({one.name, one.limits});
  constexpr int lanes = 2;
  StepFixture task(trials, place.options(lanes), place.nodes * lanes);
  const ProcessResult result = task.run();
  INFO(result.out << result.err);
  REQUIRE(task.shard().has_value());
  constexpr std::ptrdiff_t never_began_max = 2;
  const auto lost = std::count_if(std::begin(cases), std::end(cases), [&](const Case& one) {
    return never_began(one, place, task.verdict(one.name));
  });
  CHECK(lost <= never_began_max);
  for (const Case& one : cases) check_case(one, place, task);
  CHECK(task.shard()->end->reason == "storage_error");
  CHECK(result.status.code != 0);
  CHECK(task.leftovers(5s).empty());
}

/// Tells the job something while its first trial runs.
void run_told(const Place& place, const char* signal, Outcome outcome) {
  StepFixture task({{"waits_long"}, {"waits_next"}}, place.options(), place.nodes);
  ChildProcess job = task.start();
  REQUIRE(task.wait_for_steps("waits_long"));
  ProcessRequest tell;
  tell.call.argv = {"scancel", fmt::format("--signal={}", signal), "--name=" + task.name()};
  REQUIRE(run_process(tell).has_value());
  for (int round = 0; round < 300 && !job.poll(); ++round) std::this_thread::sleep_for(100ms);
  REQUIRE(job.poll().has_value());
  print_row(std::string(name_of(outcome)), place, task.verdict("waits_long"));
  print_row("not_started", place, task.verdict("waits_next"));
  INFO(place.launcher << ", " << place.nodes << " nodes\n" << task.log("waits_long"));
  CHECK(task.verdict("waits_long").outcome == outcome);
  CHECK(task.verdict("waits_next").outcome == Outcome::not_started);
  CHECK(task.leftovers(5s).empty());
}

/// A node of the test cluster, `kill` or `start`.
void tell_node(const std::string& word, const std::string& node) {
  ProcessRequest request;
  request.call.argv = {std::getenv("SLURMTUNE_CLUSTER_SH"), word,
                       std::getenv("SLURMTUNE_CLUSTER_DIR"), node};
  if (word == "kill") request.call.argv.emplace_back("KILL");
  const auto result = run_process(request);
  REQUIRE(result.has_value());
  INFO(result->out << result->err);
  REQUIRE(result->status.success());
}

void wait_until_idle(const std::string& node) {
  ProcessRequest request;
  request.call.argv = {"sinfo", "-h", "-n", node, "-o", "%t"};
  for (int round = 0; round < 150; ++round) {
    const auto result = run_process(request);
    if (result && result->out.starts_with("idle")) return;
    std::this_thread::sleep_for(200ms);
  }
  FAIL(node << " does not come back");
}

/// The second node dies under a trial: so does the task's job, since a rank of the runner was on
/// it, and Slurm would requeue it.
void lose_node(const Place& place) {
  StepFixture task({{"ok"}, {"lingers"}}, place.options(), place.nodes);
  ChildProcess job = task.start();
  REQUIRE(task.wait_for_steps("lingers"));
  const std::string node = task.shard()->start.nodes.back();
  const auto began = std::chrono::steady_clock::now();
  tell_node("kill", node);
  for (int round = 0; round < 400 && !job.poll(); ++round) std::this_thread::sleep_for(100ms);
  const std::chrono::duration<double> lasted = std::chrono::steady_clock::now() - began;
  tell_node("start", node);
  wait_until_idle(node);
  REQUIRE(job.poll().has_value());
  CHECK(task.leftovers(5s).empty());
  // Nothing was tried that was not finished; what counts as not tried may be there.
  const Shard first = *task.shard(0);
  REQUIRE_FALSE(first.verdicts.empty());
  CHECK(first.verdicts.front().outcome == Outcome::ok);
  std::string said = "-";
  for (std::size_t i = 1; i < first.verdicts.size(); ++i) {
    said = name_of(first.verdicts[i].outcome);
    CHECK_FALSE(rule_of(first.verdicts[i].outcome).counts_as_tried);
  }
  fmt::print("{:<21} {:<6} {:>5}  {:<13} {:<21} {:>5.1f}\n", "node_failure", place.launcher,
             place.nodes, said, "the task is requeued", lasted.count());
  task.environment["SLURM_RESTART_COUNT"] = "1";
  task.run();
  CHECK(task.verdict("lingers", 1).outcome == Outcome::ok);
  CHECK(task.leftovers(5s).empty());
}

}  // namespace

TEST_CASE("runner: every outcome, under torch and srun, on one node and on two", "[runner]") {
  fmt::print("{:<21} {:<6} {:>5}  {:<13} {:<21} {:>5}  {}\n", "case", "how", "nodes", "verdict",
             "reason", "s", "evidence");
  for (const char* launcher : {"torch", "srun"}) {
    for (const int nodes : {1, 2}) {
      const Place place{launcher, nodes};
      run_cases(place);
      run_told(place, "TERM", Outcome::preempted);
      run_told(place, "INT", Outcome::cancelled);
    }
  }
}

TEST_CASE("runner: a node that dies ends its task, and the next run of it goes on",
          "[runner][.lost-node]") {
  for (const char* launcher : {"torch", "srun"}) lose_node({launcher, 2});
}

}  // namespace slurmtune
