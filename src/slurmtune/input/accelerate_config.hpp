// SPDX-License-Identifier: MIT
#pragma once

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/launch_line.hpp"
#include "slurmtune/input/source_text.hpp"

namespace slurmtune {

/// Fills what a line of `accelerate launch` leaves to the file of its --config_file; flags win over
/// the file. Counts of processes and machines, mixed precision and the file of the DeepSpeed config
/// are taken; addresses, ports and ranks are slurmtune's own.
/// It reads what `accelerate config` writes: scalars in one level of sections, no other YAML.
/// Errors: invalid_input, `file:line: …`: FSDP, Megatron-LM or a TPU; DeepSpeed's keys without a
/// file of their own (the message holds the file to write); a value that is no number.
/// Sources: accelerate/commands/config/config_args.py and launch.py 1.2.
[[nodiscard]] Expected<void> apply_accelerate_config(const SourceText& source, LaunchLine& line);

}  // namespace slurmtune
