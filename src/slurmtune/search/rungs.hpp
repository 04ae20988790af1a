// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "slurmtune/input/study_spec.hpp"

namespace slurmtune {

/// Successive halving: of each rung the best third goes on to the next, for three times as many
/// steps. Source: Jamieson and Talwalkar, "Non-stochastic Best Arm Identification and
/// Hyperparameter Optimization", AISTATS 2016; a reduction by 3 as in Li et al., "A System for
/// Massively Parallel Hyperparameter Tuning", MLSys 2020.
inline constexpr int rung_reduction = 3;

/// Measured steps of each rung: from min_steps, the last one max_steps.
[[nodiscard]] std::vector<int> rung_steps(const MeasureSpec& measure);

/// Experiments of each rung: `first` and each time a third of it, at least one, for so many rungs.
[[nodiscard]] std::vector<std::int64_t> rung_widths(std::int64_t first, std::size_t rungs);

/// The widest first rung with which all rungs together have at most `total` experiments; 0 if
/// there are more rungs than that.
[[nodiscard]] std::int64_t first_rung_within(std::int64_t total, std::size_t rungs);

}  // namespace slurmtune
