// SPDX-License-Identifier: MIT
#include "slurmtune/runner/trial_log.hpp"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "slurmtune/study/files.hpp"

namespace slurmtune {

Expected<TrialLog> TrialLog::create(const std::filesystem::path& path) {
  TrialLog log;
  log.path_ = path;
  SLURMTUNE_TRY(log.file_, open_file(path.string(), O_WRONLY | O_CREAT | O_TRUNC));
  return log;
}

Expected<void> TrialLog::add(std::string_view bytes) {
  seen_ += bytes.size();
  tail_ += bytes;
  if (tail_.size() > 2 * tail_bytes) tail_.erase(0, tail_.size() - tail_bytes);
  full_ = full_ || written_ + waiting_.size() + bytes.size() > whole_bytes_max;
  if (full_) return {};
  waiting_ += bytes;
  if (waiting_.size() < tail_bytes) return {};
  return flush();
}

Expected<void> TrialLog::flush() {
  const std::string bytes = std::move(waiting_);
  waiting_.clear();
  return write(bytes);
}

Expected<void> TrialLog::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(file_.get(), bytes.data(), bytes.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      return unavailable(
          fmt::format("{}: cannot be written: {}", path_.string(), std::strerror(errno)));
    }
    bytes.remove_prefix(static_cast<std::size_t>(count));
    written_ += static_cast<std::uint64_t>(count);
  }
  return {};
}

Expected<void> TrialLog::close(KeepLog keep) {
  if (tail_.size() > tail_bytes) tail_.erase(0, tail_.size() - tail_bytes);
  if (keep == KeepLog::tail && seen_ > tail_bytes) {
    file_.close();
    return replace_file(path_, tail_, Durability::cached);
  }
  SLURMTUNE_CHECK(flush());
  if (written_ < seen_) {
    const std::uint64_t left_out =
        seen_ - written_ > tail_.size() ? seen_ - written_ - tail_.size() : 0;
    SLURMTUNE_CHECK(write(fmt::format("\n[slurmtune: {} bytes left out]\n", left_out)));
    SLURMTUNE_CHECK(write(tail_));
  }
  file_.close();
  return {};
}

}  // namespace slurmtune
