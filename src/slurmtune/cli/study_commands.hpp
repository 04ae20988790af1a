// SPDX-License-Identifier: MIT
#pragma once

#include <memory>
#include <string>

#include "slurmtune/cli/command.hpp"

namespace slurmtune {

/// What commands on a study that is there have in common.
struct DirectoryArguments {
  std::string directory;
  bool as_json = false;
};

/// Adds DIR to a command.
[[nodiscard]] std::shared_ptr<DirectoryArguments> directory_argument(CLI::App& command);

/// What `slurmtune resume DIR` does.
[[nodiscard]] Expected<ExitCode> resume_study(const std::string& directory);

}  // namespace slurmtune
