// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "slurmtune/study/scheduler.hpp"

namespace slurmtune {

enum class SlurmClient {
  /// What SLURMTUNE_SLURM_CLIENT says (`commands`, `libslurm`, `auto`); if it says nothing,
  /// libslurm where it is there and works, else the commands.
  automatic,
  commands,
  libslurm,  ///< an error if it does not work
};

struct ClientChoice {
  SlurmClient client = SlurmClient::automatic;
  /// Where slurmtune-libslurm.so is looked for first; then beside the running program and in
  /// ../lib/slurmtune of it.
  std::filesystem::path plugin_directory;
  /// Told why libslurm is not used, where it might have been. May be empty.
  std::function<void(const std::string&)> note;
  /// How long the first question to the controller by libslurm, and each command, may take; absent:
  /// as long as the client finds right.
  std::optional<std::chrono::milliseconds> patience{};
};

/// A client of this machine's Slurm. With libslurm, jobs whose scripts ask for what our client of
/// it does not know are submitted by sbatch.
/// Errors: unavailable if there is no Slurm, or not the client that was asked for; invalid_input
/// for another value of SLURMTUNE_SLURM_CLIENT.
[[nodiscard]] Expected<std::unique_ptr<Scheduler>> make_slurm_scheduler(
    const ClientChoice& choice = {});

}  // namespace slurmtune
