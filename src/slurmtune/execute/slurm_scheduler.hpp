// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "slurmtune/study/scheduler.hpp"

namespace slurmtune {

enum class SlurmClient {
  automatic,  ///< libslurm if it is there and works, else the commands
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
};

/// The choice that SLURMTUNE_SLURM_CLIENT (`commands`, `libslurm`, `auto`) makes.
/// Errors: invalid_input for any other value.
[[nodiscard]] Expected<ClientChoice> client_choice_from_environment();

/// A client of this machine's Slurm. With libslurm, jobs whose scripts ask for what our client of
/// it does not know are submitted by sbatch.
/// Errors: unavailable if there is no Slurm, or not the client that was asked for.
[[nodiscard]] Expected<std::unique_ptr<Scheduler>> make_slurm_scheduler(
    const ClientChoice& choice = {});

}  // namespace slurmtune
