// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/warmup.hpp"

#include <algorithm>
#include <limits>

namespace slurmtune {

std::size_t warmup_readings(std::span<const double> readings, std::size_t at_least) {
  const std::size_t count = readings.size();
  if (count <= at_least) return count;
  const std::size_t at_most = std::max(at_least, count / 3);
  std::size_t best = at_least;
  double best_error = std::numeric_limits<double>::infinity();
  for (std::size_t drop = at_least; drop <= at_most && drop < count; ++drop) {
    const auto rest = readings.subspan(drop);
    const auto size = static_cast<double>(rest.size());
    double mean = 0;
    for (const double reading : rest) mean += reading / size;
    double squares = 0;
    for (const double reading : rest) squares += (reading - mean) * (reading - mean);
    // Equal readings differ by rounding; that is no reason to drop any.
    constexpr double rounding = 1e-12;
    if (squares < size * (rounding * mean) * (rounding * mean)) squares = 0;
    const double error = squares / (size * size);
    if (error < best_error) {
      best_error = error;
      best = drop;
    }
  }
  return best;
}

}  // namespace slurmtune
