// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>

#include "slurmtune/record/interval.hpp"

namespace slurmtune {

/// The centre of the step times with its 95 % interval, from readings of one trial, in their order.
///
/// The estimate is Hodges and Lehmann's: the median of the means of all pairs. The interval is that
/// of the signed-rank test (model/rank_statistics.hpp): it holds the centre with 95 % whatever the
/// distribution's form, if only it is symmetric about its centre but for outliers. From 6 readings
/// on; what it covers then is never less (6: 96.9 %, 7: 95.3 %, 8: 96.1 %, 10: 95.1 %). For fewer,
/// no statement without a form reaches 95 % (5: 93.8 %, 2: 50 %), and Student's t is used, or the
/// span of the readings where that is wider.
///
/// Steps that follow each other are alike, so that n of them tell less than n: both ends are moved
/// away by sqrt((1 + r) / (1 - r)), r the rank correlation of successive readings, where it is
/// positive (at most 0.8; the equivalent sample size of an AR(1) process, Zwiers and von Storch, J.
/// Climate 8 (1995) 336-351). `low` is kept above a tenth of `mid`, so that a throughput made from
/// it is finite. Nothing for fewer than 2 readings. Why this one: docs/adr/0014.
[[nodiscard]] std::optional<Interval> step_interval(std::span<const double> readings);

/// (high - low) / mid.
[[nodiscard]] double relative_width(const Interval& interval);

}  // namespace slurmtune
