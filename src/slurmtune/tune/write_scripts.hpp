// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/study/study_directory.hpp"

namespace slurmtune {

/// Renders the job scripts of a whole study into it and submits nothing. Returns shell lines that
/// submit them, in order: each keeps its job's number in a variable that a later line waits for.
[[nodiscard]] Expected<std::vector<std::string>> write_scripts(const StudyDirectory& directory);

}  // namespace slurmtune
