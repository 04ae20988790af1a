// SPDX-License-Identifier: MIT
#include "slurmtune/execute/mpi_variables.hpp"

#include <algorithm>
#include <array>

namespace slurmtune {

bool is_told_by_mpirun(std::string_view name) {
  constexpr std::array<std::string_view, 23> prefixes{"OMPI_COMM_WORLD_",
                                                      "OMPI_APP_CTX_",
                                                      "OMPI_ARGV",
                                                      "OMPI_COMMAND",
                                                      "OMPI_FIRST_RANKS",
                                                      "OMPI_FILE_LOCATION",
                                                      "OMPI_NUM_APP_CTX",
                                                      "OMPI_UNIVERSE_SIZE",
                                                      "OMPI_MCA_ess",
                                                      "OMPI_MCA_pmix",
                                                      "OMPI_MCA_orte_app_num",
                                                      "OMPI_MCA_orte_bound_at_launch",
                                                      "OMPI_MCA_orte_ess_",
                                                      "OMPI_MCA_orte_hnp_uri",
                                                      "OMPI_MCA_orte_jobfam_session_dir",
                                                      "OMPI_MCA_orte_launch",
                                                      "OMPI_MCA_orte_local_daemon_uri",
                                                      "OMPI_MCA_orte_num_",
                                                      "OMPI_MCA_orte_precondition_transports",
                                                      "OMPI_MCA_orte_top_session_dir",
                                                      "OMPI_MCA_initial_wdir",
                                                      "OMPI_MCA_mpi_oversubscribe",
                                                      "OMPI_MCA_shmem_RUNTIME_QUERY_hint"};
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

}  // namespace slurmtune
