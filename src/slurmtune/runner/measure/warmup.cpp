// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/warmup.hpp"

#include <algorithm>
#include <limits>
#include <vector>

namespace slurmtune {

namespace {

/// Running medians of three: a single reading that was held up is gone, a slow start that settles
/// stays as it is.
std::vector<double> smoothed(std::span<const double> readings) {
  std::vector<double> smooth(readings.begin(), readings.end());
  for (std::size_t i = 1; i + 1 < readings.size(); ++i) {
    const auto [least, most] = std::minmax(readings[i - 1], readings[i + 1]);
    smooth[i] = std::clamp(readings[i], least, most);
  }
  return smooth;
}

/// The sum of squares about their mean of the readings from each on.
std::vector<double> squares_from(std::span<const double> readings) {
  std::vector<double> squares(readings.size());
  double mean = 0.0;
  double sum = 0.0;
  for (std::size_t taken = 1; taken <= readings.size(); ++taken) {
    const std::size_t at = readings.size() - taken;
    const double apart = readings[at] - mean;
    mean += apart / static_cast<double>(taken);
    sum += apart * (readings[at] - mean);
    // Equal readings differ by rounding; that is no reason to drop any.
    constexpr double rounding = 1e-12;
    const double noise = rounding * mean;
    squares[at] = sum < static_cast<double>(taken) * noise * noise ? 0.0 : sum;
  }
  return squares;
}

}  // namespace

std::size_t warmup_readings(std::span<const double> readings, std::size_t at_least) {
  const std::size_t count = readings.size();
  if (count <= at_least) return count;
  const std::vector<double> squares = squares_from(smoothed(readings));
  const std::size_t at_most = std::max(at_least, count / 3);
  std::size_t best = at_least;
  double best_error = std::numeric_limits<double>::infinity();
  for (std::size_t drop = at_least; drop <= at_most && drop < count; ++drop) {
    const auto size = static_cast<double>(count - drop);
    const double error = squares[drop] / (size * size);
    if (error < best_error) {
      best_error = error;
      best = drop;
    }
  }
  return best;
}

}  // namespace slurmtune
