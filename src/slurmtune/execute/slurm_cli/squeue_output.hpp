// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "slurmtune/study/scheduler.hpp"

namespace slurmtune {

/// squeue's --Format for parse_squeue: job (of an array, that of all its tasks), index, state,
/// status of wait(2), restarts, start (local time, `N/A`), reason, nodes, name. The name is last
/// since it alone may hold any character. A field with a suffix and no size is as wide as it has to
/// be, from Slurm 20.02.
inline constexpr std::string_view squeue_format =
    "ArrayJobID:|,ArrayTaskID:|,State:|,exit_code:|,RestartCnt:|,StartTime:|,Reason:|,NodeList:|,"
    "Name:";

/// The jobs in squeue's output, in its order. Lines that are not of the format (a banner of the
/// site, a cluster's headline) are skipped; a state that is not known is JobState::unknown.
[[nodiscard]] std::vector<JobReport> parse_squeue(std::string_view output);

/// sacct's --format for parse_sacct, with --parsable2.
inline constexpr std::string_view sacct_format = "JobID,State,ExitCode,NodeList,JobName";

/// The jobs that are over in sacct's output. `owner`: the number of the study's user, as in
/// `CANCELLED by 1000`.
[[nodiscard]] std::vector<JobReport> parse_sacct(std::string_view output, std::int64_t owner);

}  // namespace slurmtune
