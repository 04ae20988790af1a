// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/runner/start/environment.hpp"

namespace slurmtune {

/// Runs the study's set-up lines (trial.setup) once in a bash of their own, in `workdir`, and
/// returns the environment that they leave behind; `environment` itself without any lines.
/// Errors: invalid_input if a line fails, in its own last words; unavailable if bash cannot be
/// started, or the lines take more than 5 minutes.
[[nodiscard]] Expected<Environment> run_setup(std::span<const std::string> lines,
                                              const Environment& environment,
                                              const std::string& workdir);

}  // namespace slurmtune
