// SPDX-License-Identifier: MIT
#include "slurmtune/runner/measure/step_interval.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "slurmtune/model/rank_statistics.hpp"
#include "slurmtune/model/statistics.hpp"

namespace slurmtune {

namespace {

constexpr double autocorrelation_max = 0.8;
constexpr double low_fraction_min = 0.1;

/// By Student's t, but never within the readings: too few for a statement that needs no form.
Interval interval_of_few(std::span<const double> sorted, double mid) {
  const Interval student = mean_interval(sorted);
  const double half = student.high - student.mid;
  return {std::min(mid - half, sorted.front()), mid, std::max(mid + half, sorted.back())};
}

}  // namespace

std::optional<Interval> step_interval(std::span<const double> readings) {
  if (readings.size() < 2) return std::nullopt;
  std::vector<double> sorted(readings.begin(), readings.end());
  std::sort(sorted.begin(), sorted.end());
  const double mid = hodges_lehmann(sorted);
  if (sorted.front() == sorted.back()) return Interval{mid, mid, mid};

  const std::size_t limit = signed_rank_limit(sorted.size());
  const Interval plain =
      limit == 0 ? interval_of_few(sorted, mid)
                 : Interval{walsh_average(sorted, limit), mid,
                            walsh_average(sorted, walsh_count(sorted.size()) + 1 - limit)};
  const double correlation = std::clamp(rank_autocorrelation(readings), 0.0, autocorrelation_max);
  const double wider = std::sqrt((1 + correlation) / (1 - correlation));
  const double low = mid - wider * (mid - plain.low);
  return Interval{std::max(low, mid * low_fraction_min), mid, mid + wider * (plain.high - mid)};
}

double relative_width(const Interval& interval) {
  return (interval.high - interval.low) / interval.mid;
}

}  // namespace slurmtune
