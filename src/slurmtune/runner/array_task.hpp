// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/record/ids.hpp"
#include "slurmtune/runner/start/environment.hpp"

namespace slurmtune {

/// What one array task is asked to do.
struct ArrayTaskRequest {
  std::filesystem::path study;
  StageName stage;
  std::int64_t slice = 0;
  std::vector<std::string> nodes;  ///< of the runner's ranks, in rank order
  std::string runner;              ///< absolute path of slurmtune-runner
  Environment environment;         ///< ours, as it was when the program began
};

/// Runs the experiments of one slice, one after the other, and writes their verdicts. A slice that
/// the manifest does not have, or that is empty, is done at once and leaves no shard. Experiments
/// that an earlier run of the same array task has tried (outcome_rules: counts_as_tried) are not
/// run again.
/// Errors: invalid_input for a request or a study that cannot be run; unavailable and corrupt_data
/// if the study's files cannot be read or written, or a trial says that the file system failed.
[[nodiscard]] Expected<void> run_array_task(const ArrayTaskRequest& request);

}  // namespace slurmtune
