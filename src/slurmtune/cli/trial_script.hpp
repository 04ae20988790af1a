// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/tune/create_study.hpp"

namespace slurmtune {

/// The file that a command starts: Python's or a shell's script, or a program with a path. None of
/// a module, of a program on PATH, and of one that is named by a placeholder.
[[nodiscard]] std::optional<std::string> script_of(const std::vector<std::string>& command);

/// A sentence about a script that is not on this machine, for people; none if it is, or if it may
/// come from a container or from setup lines.
[[nodiscard]] std::optional<std::string> missing_script(const LoadedStudy& study);

/// For a study whose trials are about to start; `where` names it. Errors: invalid_input if its
/// script, given relative to trial.workdir, is not there: every trial would fail. One with an
/// absolute path may be on the nodes alone.
[[nodiscard]] Expected<void> check_script(const LoadedStudy& study, std::string_view where);

}  // namespace slurmtune
