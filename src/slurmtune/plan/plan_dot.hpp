// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "slurmtune/plan/plan.hpp"
#include "slurmtune/plan/submit_costs.hpp"

namespace slurmtune {

/// The jobs of a plan in Graphviz' language, for `dot -Tsvg`, as they come to run: one box an array
/// (width, nodes, walltime), one ellipse a reducer. A graph ends in `final`, has a `guard`, and
/// every edge is an afterany dependency; by steps a reducer submits the next array, and a second
/// one stands behind it. Inside one job (`whole`), an allocation or on this machine the stages
/// stand in one frame, and an edge says what runs next. Stages that are not mandatory are dashed.
[[nodiscard]] std::string render_dot(const Plan& plan, const WholeJobs& whole);

}  // namespace slurmtune
