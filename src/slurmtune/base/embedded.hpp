// SPDX-License-Identifier: MIT
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace slurmtune {

/// A text file of the source tree that is part of the program: templates/*.json,
/// scripts/sbatch/*.sbatch, site-configs/*.toml, the runner's failure rules. The views last as long
/// as the program.
struct EmbeddedFile {
  std::string_view path;  ///< relative to the root of the source tree, with forward slashes
  std::string_view text;
};

/// Lists all embedded files, sorted by path.
[[nodiscard]] std::span<const EmbeddedFile> embedded_files();

/// Returns the text of the file at `path` ("templates/zero1.json"), or nothing if it is not there.
[[nodiscard]] std::optional<std::string_view> embedded_file(std::string_view path);

}  // namespace slurmtune
