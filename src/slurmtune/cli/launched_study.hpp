// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/cli/study_options.hpp"
#include "slurmtune/input/launch_study.hpp"

namespace slurmtune {

/// The study of a launch line, not written yet.
struct LaunchedStudy {
  LaunchStudy study;
  std::string file;  ///< where it goes
};

/// Understands the launch line of `arguments` at this place: the current directory, the
/// allocation, the environment, the hostfile. Errors: invalid_input.
[[nodiscard]] Expected<LaunchedStudy> study_of_launch_line(const StudyArguments& arguments);

/// Errors: invalid_input if the file is there and holds another study.
[[nodiscard]] Expected<void> check_free(const LaunchedStudy& launched);

/// Writes the file, unless it holds the same already. Errors: also unavailable.
[[nodiscard]] Expected<void> write_launched(const LaunchedStudy& launched);

/// What was understood and where it is from, for a terminal.
[[nodiscard]] std::string told(const LaunchedStudy& launched, bool written);

}  // namespace slurmtune
