// SPDX-License-Identifier: MIT
#pragma once

#include <vector>

namespace slurmtune {

/// Values (larger is better) as the surrogate sees them: logarithms where all are of one sign (of a
/// time, which is negative here, that of its inverse), in units of how far the best is above the
/// median, with what is more than one unit below the median drawn nearer, as it only tells where
/// not to look; then with mean 0 and standard deviation 1. The order is kept.
[[nodiscard]] std::vector<double> scaled_values(std::vector<double> values);

/// The logarithm, or what stands for it, of values of one sign; the values themselves otherwise.
[[nodiscard]] std::vector<double> log_values(std::vector<double> values);

}  // namespace slurmtune
