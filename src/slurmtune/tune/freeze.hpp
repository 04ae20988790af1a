// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

/// Copies the files below `workdir` that match a glob of `patterns` (`*.py`, `src/**`; a directory
/// stands for all in it) to the same places below `into`. Errors: invalid_input for a pattern that
/// matches nothing or leaves `workdir`; unavailable for the disk.
[[nodiscard]] Expected<void> freeze_snapshot(const std::filesystem::path& workdir,
                                             const std::vector<std::string>& patterns,
                                             const std::filesystem::path& into);

/// Copies our own programs and plug-ins, as they stand beside the running program, into `bin`.
/// The runner and minitrain are left out where they were not built (no MPI).
[[nodiscard]] Expected<void> freeze_programs(const std::filesystem::path& bin);

/// `sha256:…` over the names and contents of study.toml, site.toml, inputs/ and bin/ below `root`,
/// in the order of their names.
[[nodiscard]] Expected<std::string> hash_inputs(const std::filesystem::path& root);

/// The directory of the running program.
[[nodiscard]] std::filesystem::path program_directory();

}  // namespace slurmtune
