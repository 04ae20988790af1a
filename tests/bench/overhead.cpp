// SPDX-License-Identifier: MIT
//
// What a trial costs above its own time: 200 trials of 100 ms through one lane of the runner,
// against the same program through `srun` and through `mpirun` in a shell loop. On the test
// cluster; SLURMTUNE_BENCH_TRIALS sets another number.

#include <algorithm>
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

constexpr int rounds = 4;

int trials_a_round() {
  const char* text = std::getenv("SLURMTUNE_BENCH_TRIALS");
  constexpr int usual = 200;
  return (text == nullptr ? usual : std::max(rounds, std::atoi(text))) / rounds;
}

double ms_since(Clock::time_point began) {
  return std::chrono::duration<double, std::milli>(Clock::now() - began).count();
}

/// Milliseconds for each of a round of a shell loop.
double loop_ms(const std::vector<std::string>& before, const std::string& command) {
  ProcessRequest request;
  request.call.argv = before;
  request.call.argv.insert(request.call.argv.end(),
                           {"bash", "-c",
                            fmt::format("for ((i = 0; i < {}; ++i)); do {} {} || exit 1; done",
                                        trials_a_round(), command, SLURMTUNE_PAUSE)});
  request.timeout = std::chrono::minutes(10);
  const auto began = Clock::now();
  const auto result = run_process(request);
  const double all_ms = ms_since(began);
  REQUIRE(result.has_value());
  INFO(result->out << result->err);
  REQUIRE(result->status.success());
  return all_ms / trials_a_round();
}

/// The same through the runner, from the start of the first trial to the end of the last.
double lane_ms() {
  std::vector<TaskFixture::Trial> all;
  for (int i = 0; i < trials_a_round(); ++i) all.push_back({fmt::format("pause_{:03}", i)});
  StepFixture task(all,
                   {.launcher = "torch",
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
  REQUIRE(shard.verdicts.size() == all.size());
  for (const Verdict& verdict : shard.verdicts) REQUIRE(verdict.outcome == Outcome::ok);
  const double inside_ms = std::chrono::duration<double, std::milli>(shard.verdicts.back().ended -
                                                                     shard.verdicts.front().started)
                               .count();
  fmt::print("  the job, the runner and its look at the node: {:.0f} ms\n", all_ms - inside_ms);
  return inside_ms / trials_a_round();
}

}  // namespace

TEST_CASE("bench: a trial costs at most 20 ms above itself, less than by srun or mpirun",
          "[runner]") {
  // In turn, and the best of each: what else the machine does is nobody's cost.
  double alone = 1e9;
  double lane = 1e9;
  double by_mpirun = 1e9;
  double by_srun = 1e9;
  for (int round = 0; round < rounds; ++round) {
    alone = std::min(alone, loop_ms({}, ""));
    lane = std::min(lane, lane_ms());
    by_mpirun = std::min(
        by_mpirun, loop_ms({}, "mpirun --oversubscribe --bind-to none --allow-run-as-root -n 1"));
    by_srun = std::min(by_srun, loop_ms({"salloc", "--quiet", "-N1", "--exclusive"}, "srun -n1"));
  }
  lane -= alone;
  by_mpirun -= alone;
  by_srun -= alone;
  fmt::print("{} rounds of {} trials of {:.1f} ms; ms a trial above that:\n", rounds,
             trials_a_round(), alone);
  fmt::print("  one lane of the runner {:6.1f}\n", lane);
  fmt::print("  mpirun in a loop       {:6.1f}   ratio {:.3f}\n", by_mpirun, lane / by_mpirun);
  fmt::print("  srun in a loop         {:6.1f}   ratio {:.3f}\n", by_srun, lane / by_srun);
  CHECK(lane <= wanted_ms);
  CHECK(lane < by_srun);
  CHECK(lane < by_mpirun);
}

}  // namespace slurmtune
