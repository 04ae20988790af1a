// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace slurmtune {

class Scheduler;

// The libslurm client is a plug-in (slurmtune-libslurm.so): libslurm's soname changes with every
// release of Slurm, many login nodes lack it, and its licence is the GPL. What follows is all that
// the program and the plug-in know of each other.

/// What the plug-in exports under this name, with C linkage.
inline constexpr const char* libslurm_entry = "slurmtune_make_scheduler";

/// Makes a client, or returns nullptr and says why in `error`.
/// `version` is the program's: C++ types pass between the two, so that it must be the plug-in's.
/// Forks to try libslurm out, since slurm_init() ends a process that lacks a configuration.
/// `patience_ms`: how long the controller may take to answer that first question.
using MakeLibslurmScheduler = Scheduler* (*)(const char* version, int patience_ms,
                                             std::string* error);

}  // namespace slurmtune
