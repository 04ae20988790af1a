// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "slurmtune/model/memory/estimate.hpp"
#include "slurmtune/record/json.hpp"
#include "slurmtune/report/text.hpp"

namespace slurmtune {

/// What `slurmtune estimate` shows: a row a way to lay out the states, what fills the memory, and
/// which to begin with. `notes` say where figures come from.
struct EstimateReport {
  const EstimateRequest& request;
  const std::vector<EstimateRow>& rows;
  const std::vector<std::string>& notes;
};
[[nodiscard]] std::string estimate_text(const EstimateReport& report, Colour colour);

/// slurmtune.estimate, version 1 (docs/formats/estimate.md).
[[nodiscard]] Json estimate_json(const EstimateReport& report);

}  // namespace slurmtune
