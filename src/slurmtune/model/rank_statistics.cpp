// SPDX-License-Identifier: MIT
#include "slurmtune/model/rank_statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/model/statistics.hpp"

namespace slurmtune {

namespace {

constexpr std::size_t exact_max = 50;
constexpr double error_wanted = 0.05;

/// How many Walsh averages are at most `bound`.
std::size_t count_up_to(std::span<const double> sorted, double bound) {
  std::size_t count = 0;
  std::size_t end = sorted.size();  // partners of sorted[i] are below it
  for (std::size_t i = 0; i < sorted.size(); ++i) {
    while (end > i && sorted[i] + sorted[end - 1] > 2 * bound) --end;
    if (end <= i) break;
    count += end - i;
  }
  return count;
}

/// P(T = t) for t = 0 … `t_max`, T the sum of the ranks of one sign.
std::vector<double> signed_rank_chances(std::size_t values, std::size_t t_max) {
  std::vector<double> chances(t_max + 1, 0.0);
  chances[0] = 1.0;
  for (std::size_t rank = 1; rank <= values; ++rank) {
    for (std::size_t t = t_max + 1; t-- > 0;) {
      chances[t] = 0.5 * (chances[t] + (t >= rank ? chances[t - rank] : 0.0));
    }
  }
  return chances;
}

std::vector<double> ranks_of(std::span<const double> values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
  std::vector<double> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t end = first + 1;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    const double rank = 0.5 * static_cast<double>(first + end - 1);
    for (; first < end; ++first) ranks[order[first]] = rank;
  }
  return ranks;
}

}  // namespace

std::size_t walsh_count(std::size_t values) { return values * (values + 1) / 2; }

double walsh_average(std::span<const double> sorted, std::size_t rank) {
  SLURMTUNE_ASSERT(rank >= 1 && rank <= walsh_count(sorted.size()));
  double low = sorted.front();
  double high = sorted.back();
  if (count_up_to(sorted, low) >= rank) return low;
  constexpr int halvings_max = 1100;  // no two doubles are further apart
  for (int i = 0; i < halvings_max; ++i) {
    const double middle = low + (high - low) / 2;
    if (middle <= low || middle >= high) break;
    (count_up_to(sorted, middle) >= rank ? high : low) = middle;
  }
  return high;
}

double hodges_lehmann(std::span<const double> sorted) {
  const std::size_t count = walsh_count(sorted.size());
  const double lower = walsh_average(sorted, (count + 1) / 2);
  if (count % 2 == 1) return lower;
  return lower + (walsh_average(sorted, count / 2 + 1) - lower) / 2;
}

std::size_t signed_rank_limit(std::size_t values) {
  if (values == 0) return 0;
  const double half = 0.5 * static_cast<double>(walsh_count(values));
  if (values > exact_max) {
    const auto n = static_cast<double>(values);
    return static_cast<std::size_t>(half - z_975 * std::sqrt(n * (n + 1) * (2 * n + 1) / 24));
  }
  const auto chances = signed_rank_chances(values, static_cast<std::size_t>(half));
  double below = 0.0;
  std::size_t limit = 0;
  while (limit < chances.size() && below + chances[limit] <= error_wanted / 2) {
    below += chances[limit++];
  }
  return limit;
}

double signed_rank_coverage(std::size_t values, std::size_t k) {
  SLURMTUNE_ASSERT(k >= 1 && values >= 1 && values <= exact_max);
  const auto chances = signed_rank_chances(values, k - 1);
  return 1.0 - 2.0 * std::accumulate(chances.begin(), chances.end(), 0.0);
}

double rank_autocorrelation(std::span<const double> values) {
  constexpr std::size_t values_min = 3;
  if (values.size() < values_min) return 0.0;
  const std::vector<double> ranks = ranks_of(values);
  const double centre = 0.5 * static_cast<double>(ranks.size() - 1);
  double squares = 0.0;
  double products = 0.0;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    squares += (ranks[i] - centre) * (ranks[i] - centre);
    if (i > 0) products += (ranks[i] - centre) * (ranks[i - 1] - centre);
  }
  return squares > 0.0 ? products / squares : 0.0;
}

}  // namespace slurmtune
