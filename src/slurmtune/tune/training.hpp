// SPDX-License-Identifier: MIT
#pragma once

#include <functional>

#include "slurmtune/execute/process.hpp"
#include "slurmtune/study/study_directory.hpp"
#include "slurmtune/tune/world.hpp"

namespace slurmtune {

/// Runs best/cmd_optimal.sh of a finished study, once: the journal says that it begins before it
/// does, and how it ended. Its output goes where ours goes. Once `told_to_end` says so, it gets
/// SIGTERM, and is waited for.
/// Errors: invalid_input if the study is not of mode `run`; unavailable if it has no winner, if it
/// was cancelled, or if the training was begun before.
[[nodiscard]] Expected<ExitStatus> run_training(const StudyDirectory& directory, const World& world,
                                                const std::function<bool()>& told_to_end);

}  // namespace slurmtune
