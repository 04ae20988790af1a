// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/input/study_input.hpp"
#include "slurmtune/study/view.hpp"

namespace slurmtune {

/// What a study has spent of one thing that may have a limit.
struct BudgetLine {
  std::string_view name;  ///< `node-hours`, `GPU-hours`, `experiments`
  double spent = 0.0;     ///< tasks that go on are charged to their limit
  std::optional<double> limit;

  [[nodiscard]] std::optional<double> left() const {
    if (!limit) return std::nullopt;
    return *limit > spent ? *limit - spent : 0.0;
  }
};

/// Node-hours, GPU-hours (where nodes have GPUs, or a limit is set) and experiments, in this order.
[[nodiscard]] std::vector<BudgetLine> budget_lines(const StudyInput& input, const StudyView& view);

/// GPU-seconds of all tasks so far, charged as node-seconds are.
[[nodiscard]] std::int64_t spent_gpu_seconds(const StudyView& view);

/// Tries of experiments that were really started.
[[nodiscard]] std::int64_t experiments_started(const StudyView& view);

/// `1.25 of 40.00, 38.75 left`; without a limit `1.25`.
[[nodiscard]] std::string in_words(const BudgetLine& line);

}  // namespace slurmtune
