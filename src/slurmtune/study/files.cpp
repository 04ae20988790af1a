// SPDX-License-Identifier: MIT
#include "slurmtune/study/files.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <system_error>

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

namespace slurmtune {

namespace {

tl::unexpected<Error> system_failure(std::string_view what, const std::filesystem::path& path) {
  const int code = errno;
  return unavailable(
      fmt::format("{}: cannot {}: {}", path.string(), what, std::generic_category().message(code)));
}

/// An open file, closed by its owner.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  [[nodiscard]] int value() const { return value_; }
  /// Closes it now and says whether that worked: on NFS a full disk may show only here.
  [[nodiscard]] bool close() {
    const int value = value_;
    value_ = -1;
    return ::close(value) == 0;
  }

 private:
  int value_;
};

/// Removes a temporary file when its owner is done with it.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::filesystem::path path) : path_(std::move(path)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { ::unlink(path_.c_str()); }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// A name beside `path` that no other process on any node uses.
std::filesystem::path temporary_name(const std::filesystem::path& path) {
  static std::atomic<unsigned> counter{0};
  std::array<char, 256> host{};
  ::gethostname(host.data(), host.size() - 1);
  return path.parent_path() /
         fmt::format(".{}.{}.{}.{}", path.filename().string(), host.data(), ::getpid(), counter++);
}

Expected<void> write_new_file(const std::filesystem::path& path, std::string_view bytes,
                              Durability durability) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (file.value() < 0) return system_failure("create", path);
  while (!bytes.empty()) {
    const ssize_t written = ::write(file.value(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return system_failure("write", path);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  if (durability == Durability::synced && ::fsync(file.value()) != 0) {
    return system_failure("sync", path);
  }
  if (!file.close()) return system_failure("close", path);
  return {};
}

}  // namespace

Expected<std::string> read_file(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.value() < 0) return system_failure("open", path);
  std::string text;
  std::array<char, 65536> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): read fills it
  for (;;) {
    const ssize_t got = ::read(file.value(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return system_failure("read", path);
    if (got == 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

bool file_exists(const std::filesystem::path& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  return file.value() >= 0;
}

Expected<void> replace_file(const std::filesystem::path& path, std::string_view bytes,
                            Durability durability) {
  const TemporaryFile temporary(temporary_name(path));
  SLURMTUNE_CHECK(write_new_file(temporary.path(), bytes, durability));
  if (::rename(temporary.path().c_str(), path.c_str()) != 0) return system_failure("rename", path);
  return {};
}

Expected<Published> publish_file(const std::filesystem::path& path, std::string_view bytes) {
  const TemporaryFile temporary(temporary_name(path));
  SLURMTUNE_CHECK(write_new_file(temporary.path(), bytes, Durability::synced));
  if (::link(temporary.path().c_str(), path.c_str()) != 0) {
    const int code = errno;
    struct stat status {};
    const bool ours = ::stat(temporary.path().c_str(), &status) == 0 && status.st_nlink == 2;
    if (!ours) {
      errno = code;
      if (code != EEXIST) return system_failure("publish", path);
      SLURMTUNE_TRY(const auto there, read_file(path));
      return there == bytes ? Published::before_equal : Published::before_different;
    }
  }
  // The name must survive a crash of this node as the bytes do.
  const Descriptor directory(
      ::open(path.parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.value() >= 0) ::fsync(directory.value());
  return Published::now;
}

Expected<void> make_private_directory(const std::filesystem::path& path) {
  std::error_code code;
  if (std::filesystem::is_directory(path, code)) return {};
  if (path.has_parent_path() && path.parent_path() != path) {
    SLURMTUNE_CHECK(make_private_directory(path.parent_path()));
  }
  if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return system_failure("make directory", path);
  }
  if (!std::filesystem::is_directory(path, code)) {
    return unavailable(fmt::format("{}: is not a directory", path.string()));
  }
  return {};
}

}  // namespace slurmtune
