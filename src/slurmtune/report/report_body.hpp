// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <string_view>

#include "slurmtune/report/text.hpp"

namespace slurmtune {

/// The report without the files that were written: a function of the study alone.
[[nodiscard]] std::string report_body(const ReportInput& report, Colour colour);

/// What to say behind the size of the space, which is that of ZeRO stages and batches, where knobs
/// are tuned over it; else nothing.
[[nodiscard]] std::string_view beyond_the_space(const Plan& plan);

}  // namespace slurmtune
