// SPDX-License-Identifier: MIT
#include "tests/contract/slurm_under_test.hpp"

namespace {
std::unique_ptr<slurmtune::SchedulerUnderTest> make_libslurm() {
  return make_slurm_under_test(slurmtune::SlurmClient::libslurm);
}
}  // namespace

SLURMTUNE_SCHEDULER_CONTRACT("Slurm by libslurm", make_libslurm)
