// SPDX-License-Identifier: MIT
#pragma once

// Drives a whole study in memory: generate, run on a made-up machine, reduce, until it finishes.

#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "slurmtune/analyze/result_analyzer.hpp"
#include "slurmtune/plan/planner.hpp"

#include "tests/support/tuning_fixture.hpp"

namespace slurmtune::test {

/// What a study left behind.
struct StudyRun {
  Plan plan;
  std::vector<StageHistory> history;
  std::vector<Decision> decisions;
  std::int64_t spent_node_seconds = 0;

  [[nodiscard]] const Decision& last() const { return decisions.back(); }
  [[nodiscard]] const TuningResult& result() const { return *decisions.back().result; }
  /// Different configurations that were run.
  [[nodiscard]] std::size_t configurations() const;
  /// Every experiment once, in order; an experiment that was tried again counts each time.
  [[nodiscard]] std::vector<Experiment> experiments() const;
  [[nodiscard]] std::string outline() const;
};

struct RunOptions {
  std::uint64_t seed = 1;
  /// What a task is charged; 0 = its limit.
  std::int64_t task_s = 0;
  std::int64_t stages_max = 40;
};

/// Runs a study to its end. The test fails if a decision is not deterministic (verdicts shuffled
/// and hosts renamed give other bytes), or if a manifest breaks a rule that all manifests keep.
[[nodiscard]] StudyRun run_study(const StudyInput& input, const Machine& machine,
                                 const RunOptions& options = {});

/// The best configuration of the whole space, and its throughput, without noise.
struct Exhaustive {
  Configuration best;
  double throughput = 0.0;
  std::size_t configurations = 0;
};
[[nodiscard]] Exhaustive exhaustive(const StudyInput& input, const Machine& machine);

}  // namespace slurmtune::test
