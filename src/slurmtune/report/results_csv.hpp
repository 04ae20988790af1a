// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "slurmtune/input/study_input.hpp"
#include "slurmtune/study/view.hpp"

namespace slurmtune {

/// One row a verdict, in the order of stages, manifests and tries: what was run, how it ended, what
/// was measured (empty = not measured), where and when, the objective's value, then one column
/// for each parameter. A header line, LF line ends, fields quoted as RFC 4180 has it.
[[nodiscard]] std::string render_results_csv(const StudyInput& input, const StudyView& view);

/// One field of a CSV line.
[[nodiscard]] std::string csv_field(std::string_view text);

}  // namespace slurmtune
