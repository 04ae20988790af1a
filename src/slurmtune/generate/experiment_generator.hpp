// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/record/manifest.hpp"
#include "slurmtune/record/verdict.hpp"

namespace slurmtune {

/// A stage that has run: what was asked, and what came back (any order, any attempt).
struct StageHistory {
  Manifest manifest;
  std::vector<Verdict> verdicts;
};

/// The frame that a stage's manifest must fit in; made by the planner (plan sees generate).
/// Limits of trials, and how many fit in a task's walltime: task_time.hpp.
struct StageRequest {
  StudyId study;
  std::string inputs;
  StageName name;
  Purpose kind = Purpose::profile;
  int round = 0;
  std::int64_t experiments_max = 0;
  std::int64_t tasks_max = 0;
  int nodes_per_task = 1;
  std::int64_t task_walltime_s = 0;
  std::optional<std::int64_t> node_seconds_cap;  ///< worst case of the whole stage must fit in it
};

/// Proposes the experiments of a stage: templates x proposals -> experiments, in slices.
/// Pure: the same input, request and history give the same manifest, byte for byte.
class ExperimentGenerator {
 public:
  explicit ExperimentGenerator(const StudyInput& input) : input_(input) {}

  /// The manifest of a stage; without experiments if the stage's question is answered already.
  /// Experiments of earlier stages that must be tried again (`is_tried_again`) come first, with
  /// their attempt raised. An experiment that was measured is never proposed again.
  [[nodiscard]] Expected<Manifest> generate(const StageRequest& request,
                                            std::span<const StageHistory> history) const;

 private:
  const StudyInput& input_;
};

}  // namespace slurmtune
