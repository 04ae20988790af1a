// SPDX-License-Identifier: MIT
#pragma once

// A DeepSpeed study of six stages, and what its reducers make of it.

#include <string>
#include <utility>
#include <vector>

#include "slurmtune/analyze/result_analyzer.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

namespace slurmtune::test {

inline PlannedStage planned(const std::string& name, Purpose kind, int round,
                            bool mandatory = false) {
  PlannedStage stage;
  stage.name = {name};
  stage.kind = kind;
  stage.round = round;
  stage.mandatory = mandatory;
  stage.experiments_max = 12;
  stage.tasks_max = 3;
  stage.tasks_at_once = 3;
  stage.nodes_per_task = 2;
  stage.task_walltime_s = 600;
  stage.worst_node_seconds = 3600;
  return stage;
}

inline Plan small_plan() {
  Plan plan;
  plan.study = {"study"};
  plan.inputs = "sha256:0";
  plan.stages = {planned("01-profile", Purpose::profile, 0, true),
                 planned("02-frontier", Purpose::frontier, 0, true),
                 planned("03-frontier", Purpose::frontier, 1),
                 planned("04-curve", Purpose::curve, 0),
                 planned("05-confirm", Purpose::confirm, 0, true),
                 planned("06-confirm", Purpose::confirm, 1)};
  return plan;
}

/// A profile as the usual machine runs it.
inline StageHistory profile_of(const StudyInput& input, const Plan& plan, const Machine& machine) {
  StageHistory stage;
  const auto manifest = ExperimentGenerator(input).generate(stage_request(plan, 0), {});
  REQUIRE(manifest);
  stage.manifest = *manifest;
  Random chance(Seed{3});
  for (const Experiment& experiment : stage.manifest.experiments) {
    stage.verdicts.push_back(machine.run(experiment, chance));
  }
  return stage;
}

inline Reduction reduced(const StudyInput& input, const Plan& plan,
                         const std::vector<StageHistory>& history, const Spending& spending = {}) {
  auto reduction = ResultAnalyzer(input, plan).reduce(history, spending);
  INFO((reduction ? std::string() : reduction.error().message));
  REQUIRE(reduction);
  return *std::move(reduction);
}

}  // namespace slurmtune::test
