// SPDX-License-Identifier: MIT
#pragma once

namespace slurmtune {

/// The logarithm of the expected improvement over `best` of what is normal with that mean and
/// standard deviation (> 0); finite also where the improvement itself is below what a double
/// holds. Sources: Jones, Schonlau, Welch, J. Global Optim. 13 (1998), eq. 15; its logarithm by
/// the asymptotic series of Mills' ratio (Ament et al., NeurIPS 2023).
[[nodiscard]] double log_expected_improvement(double mean, double sd, double best);

}  // namespace slurmtune
