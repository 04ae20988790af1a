// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "slurmtune/execute/site/controller.hpp"

namespace slurmtune {

/// A first site file for a cluster: what its controller says, each partition as a [[queue]], and,
/// where there is accounting, each QOS that the user may ask for and that has limits. What nobody
/// but the centre knows stands in comments. compare_site finds no difference in it.
/// `date` (2026-11-30) goes into its head.
[[nodiscard]] std::string render_site_file(const Controller& controller, const std::string& date);

}  // namespace slurmtune
