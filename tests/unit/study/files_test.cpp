// SPDX-License-Identifier: MIT
#include "slurmtune/study/files.hpp"

#include <atomic>
#include <thread>
#include <vector>

#include <sys/stat.h>

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace slurmtune;

namespace {
std::size_t entries_in(const std::filesystem::path& directory) {
  std::size_t count = 0;
  for ([[maybe_unused]] const auto& entry : std::filesystem::directory_iterator(directory)) ++count;
  return count;
}
}  // namespace

TEST_CASE("publish_file: the first content stands, and the second publisher learns which it is",
          "[study]") {
  const TemporaryDirectory directory;
  CHECK(publish_file(directory / "a", "one\n").value() == Published::now);
  CHECK(publish_file(directory / "a", "one\n").value() == Published::before_equal);
  CHECK(publish_file(directory / "a", "two\n").value() == Published::before_different);
  CHECK(read_file(directory / "a").value() == "one\n");
  CHECK(entries_in(directory.path()) == 1);  // no temporary file is left
}

TEST_CASE("publish_file: of many at once exactly one wins", "[study]") {
  const TemporaryDirectory directory;
  std::atomic<int> wins{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      const auto published = publish_file(directory / "a", std::to_string(i));
      if (published && *published == Published::now) ++wins;
    });
  }
  for (auto& thread : threads) thread.join();
  CHECK(wins == 1);
  CHECK(entries_in(directory.path()) == 1);
}

TEST_CASE("replace_file: a full replacement or the old content, never a mixture", "[study]") {
  const TemporaryDirectory directory;
  REQUIRE(replace_file(directory / "a", std::string(100'000, 'x'), Durability::synced));
  REQUIRE(replace_file(directory / "a", "short", Durability::cached));
  CHECK(read_file(directory / "a").value() == "short");
  CHECK(entries_in(directory.path()) == 1);
}

TEST_CASE("files: what cannot be done is unavailable and names the path", "[study]") {
  const TemporaryDirectory directory;
  const auto missing = read_file(directory / "none");
  REQUIRE_FALSE(missing);
  CHECK(missing.error().kind == ErrorKind::unavailable);
  CHECK(missing.error().message.find(directory / "none") != std::string::npos);
  const auto nowhere = publish_file(directory / "no/such/place", "x");
  REQUIRE_FALSE(nowhere);
  CHECK(nowhere.error().kind == ErrorKind::unavailable);
  REQUIRE(replace_file(directory / "file", "x", Durability::cached));
  CHECK_FALSE(make_private_directory(directory / "file/below"));
}

TEST_CASE("make_private_directory: makes parents, for the owner alone, and may be repeated",
          "[study]") {
  const TemporaryDirectory directory;
  REQUIRE(make_private_directory(directory / "a/b/c"));
  REQUIRE(make_private_directory(directory / "a/b/c"));
  struct stat status {};
  REQUIRE(::stat((directory / "a/b").c_str(), &status) == 0);
  CHECK((status.st_mode & 0777U) == 0700U);
}
