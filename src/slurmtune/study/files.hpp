// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "slurmtune/base/error.hpp"

namespace slurmtune {

enum class Durability { cached, synced };
enum class Published { now, before_equal, before_different };

/// The whole file. Errors: unavailable, naming the path and the system's reason.
[[nodiscard]] Expected<std::string> read_file(const std::filesystem::path& path);

/// True if a file is there. Opens it: on shared filesystems a directory listing may be stale.
[[nodiscard]] bool file_exists(const std::filesystem::path& path);

/// Puts a file in its place by temp + rename; whatever stood there is replaced.
/// Errors: unavailable (disk full, quota, no permission).
[[nodiscard]] Expected<void> replace_file(const std::filesystem::path& path, std::string_view bytes,
                                          Durability durability);

/// Publishes a file that may have one content only: temp + fsync + link(). If another process was
/// first, says whether its bytes are the same; the file that stands is never touched.
/// NFS may report a link that was made as failed, so that the link count decides.
[[nodiscard]] Expected<Published> publish_file(const std::filesystem::path& path,
                                               std::string_view bytes);

/// Makes a directory with its parents, for its owner alone (0700).
[[nodiscard]] Expected<void> make_private_directory(const std::filesystem::path& path);

}  // namespace slurmtune
