// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "slurmtune/execute/slurm_scheduler.hpp"

#include "tests/contract/scheduler_contract.hpp"

namespace slurmtune {

/// The Slurm that SLURM_CONF names, by one of its clients; see tests/cluster/with-cluster.sh.
/// Its destructor cancels all jobs of this user.
[[nodiscard]] std::unique_ptr<SchedulerUnderTest> make_slurm_under_test(SlurmClient client);

}  // namespace slurmtune
