// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/launch_study.hpp"

namespace slurmtune {

struct StudyArguments;

/// The study of a launch line, not written yet.
struct LaunchedStudy {
  LaunchStudy study;
  std::string file;     ///< where it goes
  std::string other;    ///< its text if the command were `run` in place of `tune`, or the reverse
  std::string command;  ///< the user's: tune, run, submit, plan
  StudyMode mode = StudyMode::tune;
};

/// Understands the launch line of `arguments` at this place: the current directory, the
/// allocation, the environment, the hostfile. Errors: invalid_input.
[[nodiscard]] Expected<LaunchedStudy> study_of_launch_line(const StudyArguments& arguments);

/// The text of its file, if that is there already. `mode` does not count: the command says it.
/// Errors: invalid_input if the file holds another study, or cannot be written.
[[nodiscard]] Expected<std::optional<std::string>> text_there(const LaunchedStudy& launched);

/// Writes the file, unless it holds the same already. Errors: also unavailable.
[[nodiscard]] Expected<void> write_launched(const LaunchedStudy& launched);

/// What was understood and where it is from, for a terminal. `written`: now, or before.
enum class Written { yes, before, no };
[[nodiscard]] std::string told(const LaunchedStudy& launched, Written written);

}  // namespace slurmtune
