// SPDX-License-Identifier: MIT
#include "tests/contract/slurm_under_test.hpp"

namespace {
std::unique_ptr<slurmtune::SchedulerUnderTest> make_commands() {
  return make_slurm_under_test(slurmtune::SlurmClient::commands);
}
}  // namespace

SLURMTUNE_SCHEDULER_CONTRACT("Slurm by its commands", make_commands)
