// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "slurmtune/base/error.hpp"
#include "slurmtune/execute/spawn.hpp"

namespace slurmtune {

/// What is kept of a trial's output once its outcome is known.
enum class KeepLog { whole, tail };

/// The output of one trial, on disk. Written in large pieces: on a shared file system a small write
/// may hold up the reading of the next step line. Past 64 MiB only the last 64 KiB are kept besides
/// the beginning, and the gap is marked.
class TrialLog {
 public:
  /// Replaces a log that stands there. Errors: unavailable.
  [[nodiscard]] static Expected<TrialLog> create(const std::filesystem::path& path);

  /// Keeps bytes; writes once 64 KiB are waiting. Errors: unavailable (disk full, quota, …).
  [[nodiscard]] Expected<void> add(std::string_view bytes);
  /// Writes what is waiting.
  [[nodiscard]] Expected<void> flush();
  /// Ends the file; with KeepLog::tail only its last 64 KiB stay.
  [[nodiscard]] Expected<void> close(KeepLog keep);

 private:
  static constexpr std::size_t tail_bytes = std::size_t{64} * 1024;
  static constexpr std::uint64_t whole_bytes_max = std::uint64_t{64} * 1024 * 1024;

  [[nodiscard]] Expected<void> write(std::string_view bytes);

  std::filesystem::path path_;
  Descriptor file_;
  std::string waiting_;
  std::string tail_;
  bool full_ = false;
  std::uint64_t written_ = 0;
  std::uint64_t seen_ = 0;
};

}  // namespace slurmtune
