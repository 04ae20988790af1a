// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "slurmtune/input/study_spec.hpp"
#include "slurmtune/record/decision.hpp"

namespace slurmtune {

/// How the learning rate goes with a winner whose global batch is not the baseline's; "" where it
/// is, or where there is no winner or baseline to compare. For k times the batch: k times the rate
/// with SGD, sqrt(k) times with Adam and its kin.
/// Sources: Goyal et al. 2017, "Accurate, Large Minibatch SGD" (arXiv:1706.02677); Malladi et al.
/// 2022, "On the SDEs and Scaling Rules for Adaptive Gradient Algorithms" (arXiv:2205.10287).
[[nodiscard]] std::string learning_rate_note(const StudySpec& spec, const TuningResult& result);

}  // namespace slurmtune
