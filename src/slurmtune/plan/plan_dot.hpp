// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "slurmtune/plan/plan.hpp"

namespace slurmtune {

/// The graph of jobs in Graphviz' language, for `dot -Tsvg`: one box an array (width, nodes,
/// walltime), one ellipse a reducer, `guard` and `final`; every edge is an afterany dependency.
/// Stages that are not mandatory are dashed.
[[nodiscard]] std::string render_dot(const Plan& plan);

}  // namespace slurmtune
