// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

/// What the fake batch system reads of a job script: a few `#SBATCH --key=value` lines, and, for
/// scripts that nobody gave another meaning, `sleep SECONDS` and `exit CODE`.
struct FakeScript {
  std::string partition;  ///< "" = the default one
  int nodes = 1;
  bool exclusive = false;
  std::optional<std::chrono::seconds> walltime;
  std::chrono::milliseconds sleep{0};  ///< all `sleep` lines together
  int exit_code = 0;

  bool operator==(const FakeScript&) const = default;
};

/// Errors: invalid_input if the first line is no `#!`, or a value of these lines is not as
/// sbatch(1) takes it. Everything else is ignored.
[[nodiscard]] Expected<FakeScript> parse_fake_script(std::string_view text);

/// Reads the script from its file. Errors: invalid_input if there is none, and as above.
[[nodiscard]] Expected<FakeScript> read_fake_script(const std::string& path);

}  // namespace slurmtune
