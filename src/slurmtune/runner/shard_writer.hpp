// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/execute/spawn.hpp"
#include "slurmtune/record/verdict.hpp"

namespace slurmtune {

/// The verdict shard of one run of an array task, as its only writer. Every line is on disk before
/// `write` returns.
class ShardWriter {
 public:
  /// Makes `<directory>/<array job>_<slice>.<restart>.jsonl` and writes its first line. If it is
  /// there already (requeued twice with the same count, or run by hand) the next restart number is
  /// taken. Errors: unavailable.
  [[nodiscard]] static Expected<ShardWriter> create(const std::filesystem::path& directory,
                                                    TaskStart start);
  /// Errors: unavailable (disk full, quota, stale handle).
  [[nodiscard]] Expected<void> write(const ShardLine& line);
  /// The same of a line that render_shard_line made, perhaps on another node.
  [[nodiscard]] Expected<void> write_rendered(std::string text);

  [[nodiscard]] const TaskStart& start() const { return start_; }

 private:
  std::filesystem::path path_;
  Descriptor file_;
  TaskStart start_;
};

/// The shards that earlier runs of the same array task left in `directory`, by restart number.
/// They are opened by name: directory listings are cached on shared filesystems. One without a
/// whole first line (its writer died at once) is left out. Errors: corrupt_data, unavailable.
[[nodiscard]] Expected<std::vector<Shard>> earlier_shards(const std::filesystem::path& directory,
                                                          std::int64_t array_job,
                                                          std::int64_t slice);

}  // namespace slurmtune
