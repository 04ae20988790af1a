// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

namespace slurmtune {

/// How many leading readings belong to the warm-up and are not measured: the truncation that
/// minimises the marginal standard error of what is left, SS(d) / (n - d)^2, among
/// d = `at_least` … max(`at_least`, n / 3); the smallest such d. A warm-up that lasts longer than a
/// third of the readings shows as a wide interval, and the trial goes on. Computed from running
/// medians of three: a single reading that was held up ends no warm-up, while a start that settles
/// is left as it is. Never more than there are readings.
/// Sources: White, "An effective truncation heuristic for bias reduction in simulation output",
/// Simulation 69 (1997) 323-334 (MSER); Tukey, "Exploratory Data Analysis" (1977), section 7A.
[[nodiscard]] std::size_t warmup_readings(std::span<const double> readings, std::size_t at_least);

}  // namespace slurmtune
