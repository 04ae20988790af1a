// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

/// Lines of [slurm] for `KEY=VALUE` each, as a user gives them beside a launch line; the values are
/// checked when the study is read. Errors: invalid_input for what is no key of [slurm] with the
/// nearest one, for keys that take more than one value, and for a key twice.
[[nodiscard]] Expected<std::string> slurm_lines(const std::vector<std::string>& assignments);

}  // namespace slurmtune
