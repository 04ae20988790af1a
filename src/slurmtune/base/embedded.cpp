// SPDX-License-Identifier: MIT
#include "slurmtune/base/embedded.hpp"

#include <algorithm>

namespace slurmtune {

std::optional<std::string_view> embedded_file(std::string_view path) {
  const auto files = embedded_files();
  const auto found = std::ranges::lower_bound(files, path, {}, &EmbeddedFile::path);
  if (found == files.end() || found->path != path) return std::nullopt;
  return found->text;
}

}  // namespace slurmtune
