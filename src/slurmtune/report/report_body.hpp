// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "slurmtune/report/text.hpp"

namespace slurmtune {

/// The report without the files that were written: a function of the study alone.
[[nodiscard]] std::string report_body(const ReportInput& report, Colour colour);

}  // namespace slurmtune
