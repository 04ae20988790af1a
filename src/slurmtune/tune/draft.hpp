// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/tune/world.hpp"

namespace slurmtune {

/// A study directory under construction beside its place, `.NAME.draft.HOST.PID`; removed again
/// unless it was moved there.
class Draft {
 public:
  /// `who`: this process, `host:pid`.
  Draft(const std::filesystem::path& place, const std::string& who);
  Draft(const Draft&) = delete;
  Draft& operator=(const Draft&) = delete;
  ~Draft();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Errors: unavailable.
  [[nodiscard]] Expected<void> move_to(const std::filesystem::path& place);

 private:
  std::filesystem::path path_;
  bool moved_ = false;
};

/// Drafts of a study at `place` that nobody will complete, sorted: their process was killed on this
/// host, or, on another one, they are older than an hour. What holds anything that no draft of ours
/// does is left out.
[[nodiscard]] std::vector<std::filesystem::path> abandoned_drafts(
    const std::filesystem::path& place, const World& world);

}  // namespace slurmtune
