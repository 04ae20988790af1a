// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>

#include "slurmtune/record/interval.hpp"

namespace slurmtune {

/// The mean step time with its 95 % interval, from readings of one trial, in their order.
///
/// The estimate is the mean of the middle 60 % (20 % trimmed at each end), so that a step that the
/// operating system or the file system held up does not move it; its standard error comes from the
/// Winsorized variance, with Student's t at h - 1 degrees of freedom (h readings are left after
/// trimming). Steps that follow each other are alike, so that n of them tell less than n: the error
/// is widened by sqrt((1 + r) / (1 - r)), r the lag-1 autocorrelation of the Winsorized readings,
/// where it is positive (at most 0.8). Fewer than 5 readings are not trimmed. `low` is kept above
/// a tenth of `mid`, so that a throughput made from it is finite. Nothing for fewer than 2
/// readings. Sources: Tukey and McLaughlin, Sankhya A 25 (1963) 331-352; Yuen, Biometrika 61 (1974)
/// 165-170; Wilcox, "Introduction to Robust Estimation and Hypothesis Testing", section 4.3; Zwiers
/// and von Storch, J. Climate 8 (1995) 336-351 (equivalent sample size of an AR(1) process).
[[nodiscard]] std::optional<Interval> step_interval(std::span<const double> readings);

/// (high - low) / mid.
[[nodiscard]] double relative_width(const Interval& interval);

}  // namespace slurmtune
