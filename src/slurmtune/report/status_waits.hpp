// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "slurmtune/report/progress.hpp"
#include "slurmtune/report/text.hpp"

namespace slurmtune {

/// The jobs of the journal by their numbers.
using JobsByNumber = std::map<std::int64_t, const JobRecord*>;
[[nodiscard]] JobsByNumber jobs_by_number(const StudyView& view);

/// The stage that is being worked on, or null if the study does not go on.
[[nodiscard]] const StageProgress* stage_at_work(const StudyView& view,
                                                 const std::vector<StageProgress>& stages);

/// What has to happen next, and what to do if it does not; "" if the study is finished.
[[nodiscard]] std::string waits_for(const StatusInput& status,
                                    const std::vector<StageProgress>& stages);

}  // namespace slurmtune
