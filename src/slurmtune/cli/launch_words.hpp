// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

namespace slurmtune {

/// What stands behind `--` on our own command line: the line that the user types to train.
struct LaunchWords {
  bool given = false;  ///< there is a `--`
  std::vector<std::string> words;
};

}  // namespace slurmtune
