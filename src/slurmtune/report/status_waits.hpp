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

/// Whether the batch system starts it at a time that it was submitted with.
[[nodiscard]] bool waits_for_begin_time(const JobReport& report);
/// When such a job of a study with a window begins: as the batch system says, else as the window
/// opens for a task of the stage; `now` without a window.
[[nodiscard]] Instant begin_in_window(const StudyView& view, const StageName& stage,
                                      const JobReport& report, Instant now);

/// The stage that is being worked on, or null if the study does not go on.
[[nodiscard]] const StageProgress* stage_at_work(const StudyView& view,
                                                 const std::vector<StageProgress>& stages);

/// What has to happen next, and what to do if it does not; "" if the study is finished.
[[nodiscard]] std::string waits_for(const StatusInput& status,
                                    const std::vector<StageProgress>& stages);

}  // namespace slurmtune
