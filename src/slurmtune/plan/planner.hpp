// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/plan/plan.hpp"

namespace slurmtune {

/// Which study a plan is made for.
struct PlanIdentity {
  StudyId study;
  std::string inputs;
  SubmitMode submit = SubmitMode::graph;  ///< how its jobs come to run
  std::string submit_why = {};            ///< why so, where slurmtune chose
};

/// Expands a study into its graph of stages, each at its worst case, with its cost.
/// DeepSpeed: profile, frontier x rounds, curve, confirm x 2. Grid: grid, confirm x 2 (the second
/// round of confirm is used only if the first left the question open or lost experiments).
/// Errors: invalid_input if the mandatory path (first stage, one frontier round, confirm) does not
/// fit the budget, naming both figures; if the space is empty; if limits of the site are exceeded,
/// or if the site does not let a study be submitted so.
[[nodiscard]] Expected<Plan> make_plan(const StudyInput& input, const PlanIdentity& identity);

}  // namespace slurmtune
