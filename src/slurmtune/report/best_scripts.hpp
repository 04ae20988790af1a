// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/report/text.hpp"

namespace slurmtune {

/// The user's own command with the winner's values, started as the trials were: by mpirun after a
/// study on one machine, else by the job's launcher. Needs `report.result.best`.
/// Errors: those of render_trial.
[[nodiscard]] Expected<std::string> render_command_script(const ReportInput& report);

/// The same as a job script, with the site's #SBATCH lines and the nodes of one trial. Its time
/// limit is the site's longest: only the user knows how long the training takes.
/// Errors: also those of render_directive.
[[nodiscard]] Expected<std::string> render_train_script(const ReportInput& report);

}  // namespace slurmtune
