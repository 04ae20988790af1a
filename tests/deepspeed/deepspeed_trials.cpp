// SPDX-License-Identifier: MIT
//
// Real DeepSpeed on CPUs as trials under `torch`, on two nodes of the test cluster.

#include <chrono>
#include <csignal>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/core.h>

#include "slurmtune/runner/start/environment.hpp"

#include "tests/mpi/runner/step_fixture.hpp"
#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

// Two imports of torch at once take their time on a busy machine.
constexpr TrialLimits limits{90.0, 30.0, 150.0};

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TaskFixture::Options options() {
  return {.launcher = "torch",
          .command = {SLURMTUNE_SOURCE_DIR "/tests/deepspeed/trial.sh", "{p:mode}", "{ds_config}"},
          .more = "[deepspeed]\nconfig = \"ds_config.json\"",
          .nodes = 2,
          .processes_per_node = 1,
          .source = "deepspeed",
          .ds_config = text_of(SLURMTUNE_SOURCE_DIR "/examples/deepspeed-tiny/ds_config.json")};
}

/// The process that trains as rank 1.
pid_t rank_1(const TaskFixture& task) {
  for (const pid_t pid : task.processes("python")) {
    if (variable(parse_environment(text_of(fmt::format("/proc/{}/environ", pid))), "RANK") == "1")
      return pid;
  }
  return -1;
}

}  // namespace

TEST_CASE("runner: DeepSpeed's ZeRO stages are measured by DeepSpeed's own lines", "[runner]") {
  const std::vector<std::string> stages{"zero_0", "zero_1", "zero_2", "zero_3"};
  std::vector<TaskFixture::Trial> trials;
  for (const std::string& stage : stages) trials.push_back({stage, limits});
  StepFixture task(trials, options(), 2);
  const ProcessResult result = task.run();
  INFO(result.out << result.err);
  for (const std::string& stage : stages) {
    const Verdict verdict = task.verdict(stage);
    INFO(stage << "\n" << task.log(stage));
    CHECK(verdict.outcome == Outcome::ok);
    CHECK(verdict.source == "deepspeed");
    CHECK(verdict.nodes.size() == 2);
    REQUIRE(verdict.steps.measured >= 6);
    REQUIRE(verdict.metrics.step_s.has_value());
    CHECK(verdict.metrics.step_s->mid > 0.001);
    CHECK(verdict.metrics.step_s->mid < 10.0);
    fmt::print("{}: {} steps after {} of warm-up, {:.1f} ms a step, {:.1f} s to the first\n", stage,
               verdict.steps.measured, verdict.steps.warmup, 1e3 * verdict.metrics.step_s->mid,
               verdict.startup_s);
  }
  CHECK(task.leftovers().empty());
}

TEST_CASE("runner: DeepSpeed out of host memory says so in its own words", "[runner]") {
  StepFixture task({{"memory", limits}}, options(), 2);
  task.run();
  const Verdict verdict = task.verdict("memory");
  INFO(task.log("memory"));
  CHECK(verdict.outcome == Outcome::host_oom);
  CHECK(verdict.reason == "rule:torch-cpu-oom");
  REQUIRE(verdict.evidence.has_value());
  CHECK(verdict.evidence->line.find("DefaultCPUAllocator: can't allocate memory") !=
        std::string::npos);
  fmt::print("memory: {} by '{}'\n", name_of(verdict.outcome), verdict.evidence->line);
  CHECK(task.leftovers().empty());
}

TEST_CASE("runner: a rank of DeepSpeed that is killed ends the trial everywhere", "[runner]") {
  StepFixture task({{"slow", limits}}, options(), 2);
  ChildProcess job = task.start();
  pid_t victim = -1;
  const auto until = Clock::now() + 100s;
  while (task.log("slow").find("skipped=") == std::string::npos && !job.poll() &&
         Clock::now() < until) {
    std::this_thread::sleep_for(100ms);
  }
  victim = rank_1(task);
  REQUIRE(victim > 0);
  ::kill(victim, SIGKILL);
  const auto killed = Clock::now();
  while (!task.processes("python").empty() && Clock::now() - killed < 30s) {
    std::this_thread::sleep_for(50ms);
  }
  const double lasted = std::chrono::duration<double>(Clock::now() - killed).count();
  fmt::print("killed: ended everywhere after {:.1f} s\n", lasted);
  CHECK(lasted < 10.0);
  for (int round = 0; round < 200 && !job.poll(); ++round) std::this_thread::sleep_for(100ms);
  REQUIRE(job.poll().has_value());
  const Verdict verdict = task.verdict("slow");
  INFO(task.log("slow"));
  CHECK(verdict.outcome == Outcome::crashed);
  CHECK(verdict.evidence->rank == 1);
  CHECK(verdict.evidence->signal == SIGKILL);
  CHECK(task.leftovers().empty());
}

}  // namespace slurmtune
