// SPDX-License-Identifier: MIT
//
// What a trial costs above its own time: 200 trials of 100 ms through one lane of the runner,
// against the same program through `srun` and through `mpirun` in a shell loop. On the test
// cluster; SLURMTUNE_BENCH_TRIALS sets another number.

#include <chrono>
#include <cstdlib>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/mpi/runner/step_fixture.hpp"
#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

using Clock = std::chrono::steady_clock;

constexpr double wanted_ms = 20.0;

int trials() {
  const char* text = std::getenv("SLURMTUNE_BENCH_TRIALS");
  return text == nullptr ? 200 : std::atoi(text);
}

double ms_since(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

/// Milliseconds for each of `trials()` rounds of a shell loop.
double loop_ms(const std::vector<std::string>& before, const std::string& command) {
  ProcessRequest request;
  request.call.argv = before;
  request.call.argv.insert(request.call.argv.end(),
                           {"bash", "-c",
                            fmt::format("for ((i = 0; i < {}; ++i)); do {} {} || exit 1; done",
                                        trials(), command, SLURMTUNE_PAUSE)});
  request.timeout = std::chrono::minutes(10);
  const auto began = Clock::now();
  const auto result = run_process(request);
  const double all_ms = ms_since(began);
  REQUIRE(result.has_value());
  INFO(result->out << result->err);
  REQUIRE(result->status.success());
  return all_ms / trials();
}

/// The same through the runner, from its start to its end.
double lane_ms(const char* launcher) {
  std::vector<TaskFixture::Trial> all;
  for (int i = 0; i < trials(); ++i) all.push_back({fmt::format("pause_{:03}", i)});
  StepFixture task(all,
                   {.launcher = launcher,
                    .command = {SLURMTUNE_PAUSE, "{p:mode}"},
                    .nodes = 1,
                    .processes_per_node = 1},
                   1);
  const auto began = Clock::now();
  const ProcessResult result = task.run();
  const double all_ms = ms_since(began);
  INFO(result.out << result.err);
  REQUIRE(task.shard().has_value());
  const Shard shard = *task.shard();
  REQUIRE(shard.verdicts.size() == static_cast<std::size_t>(trials()));
  for (const Verdict& verdict : shard.verdicts) REQUIRE(verdict.outcome == Outcome::ok);
  const Instant last = shard.verdicts.back().ended;
  const double inside_ms =
      std::chrono::duration<double, std::milli>(last - shard.verdicts.front().started).count();
  fmt::print("  one lane, {}: {:.0f} ms of {:.0f} ms before the first trial and after the last\n",
             launcher, all_ms - inside_ms, all_ms);
  return all_ms / trials();
}

}  // namespace

TEST_CASE("bench: a trial costs at most 20 ms above itself, less than by srun or mpirun",
          "[runner]") {
  const double alone = loop_ms({}, "");
  const double lane = lane_ms("torch") - alone;
  const double by_mpirun =
      loop_ms({}, "mpirun --oversubscribe --bind-to none --allow-run-as-root -n 1") - alone;
  const double by_srun = loop_ms({"salloc", "--quiet", "-N1", "--exclusive"}, "srun -n1") - alone;
  fmt::print("{} trials of {:.1f} ms; ms a trial above that:\n", trials(), alone);
  fmt::print("  one lane of the runner {:6.1f}\n", lane);
  fmt::print("  mpirun in a loop       {:6.1f}   ratio {:.3f}\n", by_mpirun, lane / by_mpirun);
  fmt::print("  srun in a loop         {:6.1f}   ratio {:.3f}\n", by_srun, lane / by_srun);
  CHECK(lane <= wanted_ms);
  CHECK(lane < by_srun);
  CHECK(lane < by_mpirun);
}

}  // namespace slurmtune
