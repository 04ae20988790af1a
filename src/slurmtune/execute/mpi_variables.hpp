// SPDX-License-Identifier: MIT
#pragma once

#include <string_view>

namespace slurmtune {

/// Whether mpirun sets that variable for its ranks and a user has no reason to; also of an entry
/// `NAME=value`. OMPI_MCA_* is otherwise the user's own choice, as is OMPI_CC.
/// Source: the environment of a rank under Open MPI 4.1.4.
[[nodiscard]] bool is_told_by_mpirun(std::string_view name);

}  // namespace slurmtune
