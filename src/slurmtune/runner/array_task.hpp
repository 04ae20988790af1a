// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/record/ids.hpp"
#include "slurmtune/runner/lane/packet_link.hpp"
#include "slurmtune/runner/start/environment.hpp"
#include "slurmtune/runner/start/rendezvous.hpp"
#include "slurmtune/runner/start/spawner.hpp"

namespace slurmtune {

/// What one array task is asked to do.
struct ArrayTaskRequest {
  std::filesystem::path study;
  StageName stage;
  std::int64_t slice = 0;
  std::vector<std::string> nodes;  ///< for trials, instead of those of the runner's ranks
  std::string runner;              ///< absolute path of slurmtune-runner
  Environment environment;         ///< ours, as it was when the program began
};

/// The ranks of the runner in one task, as each of them knows them.
struct RunnerRanks {
  PacketLink& link;
  std::vector<NodeName> nodes;  ///< by rank
};

/// Runs the experiments of one slice, as many at once as there are lanes, and writes their
/// verdicts; on every rank of the task. A slice that the manifest does not have, or that is empty,
/// is done at once and leaves no shard. Experiments that an earlier run of the same array task has
/// tried (outcome_rules: counts_as_tried) are not run again.
/// Errors, on rank 0: invalid_input for a request or a study that cannot be run; unavailable and
/// corrupt_data if the study's files cannot be read or written, or a trial says that the file
/// system failed.
[[nodiscard]] Expected<void> run_array_task(const ArrayTaskRequest& request,
                                            const RunnerRanks& ranks, Spawner& spawner);

}  // namespace slurmtune
