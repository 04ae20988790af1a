// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace slurmtune {

/// Environment variables by name.
using Environment = std::map<std::string, std::string>;

/// Our own environment, as it is now.
[[nodiscard]] Environment own_environment();

/// Reads `NAME=value` entries that end with NUL, as `env -0` prints them. Entries without `=` are
/// left out.
[[nodiscard]] Environment parse_environment(std::string_view bytes);

/// `NAME=value` each, sorted.
[[nodiscard]] std::vector<std::string> environment_entries(const Environment& environment);

/// The value of `name`, if it is there.
[[nodiscard]] std::optional<std::string> variable(const Environment& environment,
                                                  const std::string& name);

/// Takes out what makes a new MPI job or job step believe that it is part of ours: PMIX_*, PMI_*,
/// OMPI_* (but OMPI_MCA_* and OMPI_ALLOW_RUN_AS_ROOT*, which are the user's), what mpirun tells its
/// own ranks by OMPI_MCA_*, and what srun tells its own tasks by SLURM_*. What sbatch and salloc
/// say about the job stays.
/// Source: Open MPI 4.1 orte/mca/schizo/ompi; srun(1), "OUTPUT ENVIRONMENT VARIABLES".
void scrub_launch_variables(Environment& environment);

/// The executable file that argv[0] means under the PATH of `environment`; nothing if there is
/// none. A name with a slash is taken as it is, relative to `workdir`.
[[nodiscard]] std::optional<std::string> find_executable(const std::string& name,
                                                         const Environment& environment,
                                                         const std::string& workdir);

}  // namespace slurmtune
