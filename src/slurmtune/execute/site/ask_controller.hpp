// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/execute/site/read_controller.hpp"

namespace slurmtune {

/// Asks scontrol, sinfo and srun once each, and sacctmgr where there is accounting. A database that
/// does not answer leaves its texts empty, and `note` says so.
/// Errors: unavailable if the commands are not there, or the controller does not answer.
struct ControllerAnswer {
  ControllerTexts texts;
  std::string note;
};
[[nodiscard]] Expected<ControllerAnswer> ask_controller(
    std::chrono::milliseconds command_timeout = std::chrono::seconds(30));

}  // namespace slurmtune
