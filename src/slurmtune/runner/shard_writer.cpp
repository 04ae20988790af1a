// SPDX-License-Identifier: MIT
#include "slurmtune/runner/shard_writer.hpp"

#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "slurmtune/study/files.hpp"
#include "slurmtune/study/study_directory.hpp"

namespace slurmtune {

namespace {

constexpr int restarts_max = 10'000;

}  // namespace

Expected<ShardWriter> ShardWriter::create(const std::filesystem::path& directory, TaskStart start) {
  SLURMTUNE_CHECK(make_private_directory(directory));
  for (; start.restart < restarts_max; ++start.restart) {
    ShardWriter writer;
    writer.path_ = directory / shard_name(start.array_job, start.slice, start.restart);
    const int fd = ::open(writer.path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC,
                          S_IRUSR | S_IWUSR);
    if (fd < 0 && errno == EEXIST) continue;
    if (fd < 0) {
      return unavailable(
          fmt::format("{}: cannot be made: {}", writer.path_.string(), std::strerror(errno)));
    }
    writer.file_ = Descriptor(fd);
    writer.start_ = start;
    SLURMTUNE_CHECK(writer.write(start));
    return writer;
  }
  return unavailable(fmt::format("{}: there are {} shards of slice {} of job {} already",
                                 directory.string(), restarts_max, start.slice, start.array_job));
}

Expected<void> ShardWriter::write(const ShardLine& line) {
  SLURMTUNE_TRY(const std::string text, render_shard_line(line));
  return write_rendered(text);
}

Expected<void> ShardWriter::write_rendered(std::string text) {
  text += '\n';
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t count = ::write(file_.get(), rest.data(), rest.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int why = errno;
      // What comes once there is room again has to begin a line: only the last one may be torn.
      const off_t end = ::lseek(file_.get(), 0, SEEK_END);
      const auto part = static_cast<off_t>(text.size() - rest.size());
      if (part > 0 && end >= part && ::ftruncate(file_.get(), end - part) != 0) file_.close();
      return unavailable(
          fmt::format("{}: cannot be written: {}", path_.string(), std::strerror(why)));
    }
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
  if (::fdatasync(file_.get()) != 0 && errno != EINVAL) {
    return unavailable(
        fmt::format("{}: cannot be synced: {}", path_.string(), std::strerror(errno)));
  }
  return {};
}

Expected<std::vector<Shard>> earlier_shards(const std::filesystem::path& directory,
                                            std::int64_t array_job, std::int64_t slice) {
  // Numbers may be missing: a run that died before it made its shard.
  constexpr int gap_max = 16;
  std::vector<Shard> shards;
  int missing = 0;
  for (int restart = 0; restart < restarts_max && missing < gap_max; ++restart) {
    const std::filesystem::path path = directory / shard_name(array_job, slice, restart);
    if (!file_exists(path)) {
      ++missing;
      continue;
    }
    missing = 0;
    SLURMTUNE_TRY(const std::string text, read_file(path));
    if (text.find('\n') == std::string::npos) continue;
    SLURMTUNE_TRY(Shard shard, parse_shard(text, path.string()));
    shards.push_back(std::move(shard));
  }
  return shards;
}

}  // namespace slurmtune
