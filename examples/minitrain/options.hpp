// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "model.hpp"
#include "samples.hpp"

namespace minitrain {

/// Faults for tests: how a rank goes wrong.
enum class FailKind { crash, hang, exit, nan, oom };

struct FaultPlan {
  std::uint64_t step;  ///< 1 is the first optimizer step
  FailKind kind;
  int rank;
};

struct StepDelay {
  double delay_ms = 0;
  std::optional<int> rank;  ///< every rank when empty
};

/// `automatic`: a GPU where there is one and minitrain was built with CUDA, else the processor.
enum class DeviceKind { automatic, cpu, cuda };

struct Options {
  std::string ds_config_file;
  std::uint64_t steps = 20;
  ModelShape model{.layers = 6, .hidden = 96, .input = 16};
  std::size_t sequence = 4;
  std::uint64_t seed = 1;
  std::optional<std::uint64_t> memory_limit_bytes;
  bool activation_checkpointing = false;
  bool dry_run = false;  ///< only tell what was read of the configuration
  DeviceKind device = DeviceKind::automatic;
  std::optional<FaultPlan> fault;
  StepDelay delay;
};

/// What the command line asks for: a run, or only a text (help, or what is wrong) and the exit
/// code to end with.
struct Invocation {
  Options options;
  std::optional<int> exit_code;
  std::string text;
};

[[nodiscard]] Invocation parse_command_line(int argc, const char* const* argv);

}  // namespace minitrain
