// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

namespace slurmtune {

/// The Walsh averages of n values are the (x[i] + x[j]) / 2 for i <= j, n (n + 1) / 2 of them.
[[nodiscard]] std::size_t walsh_count(std::size_t values);

/// The `rank`-th smallest Walsh average, 1 <= rank <= walsh_count, of values that are sorted.
/// O(n) a bisection step, no list of all averages.
[[nodiscard]] double walsh_average(std::span<const double> sorted, std::size_t rank);

/// The Hodges-Lehmann estimate of the centre: the median of the Walsh averages. Robust up to 29 %
/// of outliers, and nearly as sharp as the mean where there are none (96 % at normal noise; the
/// median has 64 %). Source: Hodges and Lehmann, Ann. Math. Stat. 34 (1963) 598-611.
[[nodiscard]] double hodges_lehmann(std::span<const double> sorted);

/// The largest k for which [k-th smallest, k-th largest] of the Walsh averages covers the centre of
/// any symmetric distribution with 95 % or more, whatever its form; 0 if there is none (fewer than
/// 6 values). Exact up to 50 values, then by the normal approximation.
/// Source: Wilcoxon's signed-rank test turned round, Tukey (1949); Hollander, Wolfe, Chicken,
/// "Nonparametric Statistical Methods", 3rd ed., section 3.3.
[[nodiscard]] std::size_t signed_rank_limit(std::size_t values);

/// What [k-th smallest, k-th largest] of the Walsh averages covers, k >= 1; exact, up to 50 values.
[[nodiscard]] double signed_rank_coverage(std::size_t values, std::size_t k);

/// Spearman's correlation of each value with the next one; 0 for fewer than 3, or equal values.
[[nodiscard]] double rank_autocorrelation(std::span<const double> values);

}  // namespace slurmtune
