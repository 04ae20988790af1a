// SPDX-License-Identifier: MIT
#pragma once

#include "slurmtune/base/error.hpp"
#include "slurmtune/cli/command.hpp"
#include "slurmtune/cli/open_study.hpp"

namespace slurmtune {

/// Works on a local study in the foreground until it is finished: submits what is missing, runs
/// the jobs, shows progress, prints the report. Ctrl-C ends what runs; `resume` goes on.
[[nodiscard]] Expected<ExitCode> run_local_study(OpenStudy& study);

/// Watches a study on a cluster until it is finished: files every few seconds, the queue every
/// 30 s. Ctrl-C leaves the jobs alone. Errors: unavailable if no job is left and no result is
/// there.
[[nodiscard]] Expected<ExitCode> watch_study(OpenStudy& study);

/// Prints the report of a study as it stands. no_result if there is no best experiment.
[[nodiscard]] Expected<ExitCode> print_report(OpenStudy& study, bool as_json);

}  // namespace slurmtune
