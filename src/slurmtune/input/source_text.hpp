// SPDX-License-Identifier: MIT
#pragma once

#include <string>

namespace slurmtune {

/// A text and where it came from. `input` gets texts, never opens files.
struct SourceText {
  std::string path;  ///< for messages (`path:line: …`) only
  std::string text;
};

}  // namespace slurmtune
