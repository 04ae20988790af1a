// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace slurmtune {

/// Runs `program` as a child, its arguments and its environment as execve(2) wants them, and ends
/// as it did: with its exit code, or by its signal. Before that it kills what the program has left,
/// in whatever session that hides: it is the parent of all its orphans. If the launcher that
/// started us dies, all of it is killed.
///
/// A launcher's own means would not do on other nodes: mpirun knows process groups only, and so
/// does Slurm without proctrack/cgroup. Signals meant for the rank reach it in our process group.
/// Returns only if the program could not be executed: errno.
[[nodiscard]] int run_supervised(const char* program, char* const* argv, char* const* envp);

}  // namespace slurmtune
