// SPDX-License-Identifier: MIT
#pragma once

#include <span>
#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/runner/start/environment.hpp"

namespace slurmtune {

/// What a rank of a trial is told (formats.md, section 7), from what its launcher told it: RANK,
/// WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, LOCAL_SIZE and NODE_RANK, and PYTHONUNBUFFERED=1.
/// MASTER_ADDR and MASTER_PORT are already there: the runner chose them.
/// Errors: invalid_input if neither Open MPI, nor Hydra (MPICH, Intel MPI), nor Slurm told a rank.
/// Source: mpirun(1), "ENVIRONMENT"; srun(1), "OUTPUT ENVIRONMENT VARIABLES"; Intel MPI reference,
/// "Hydra environment variables".
[[nodiscard]] Expected<Environment> rank_variables(const Environment& environment);

/// Names, separated by `:`, in rank order, the files into which ranks that a launcher starts on the
/// runner's own node write (LocalTrial::open_outputs).
inline constexpr const char* rank_outputs_variable = "SLURMTUNE_RANK_OUTPUTS";

/// `slurmtune-runner rank-env -- argv…`: runs the program `argv` with these variables, and ends as
/// it does (supervise.hpp). Returns only if it cannot: 127 if there is no such program, 126 if it
/// cannot be executed, 2 without a rank or a program; standard error says why.
[[nodiscard]] int run_rank_env(std::span<const std::string> argv);

}  // namespace slurmtune
