// SPDX-License-Identifier: MIT
#include "slurmtune/base/embedded.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"

using namespace slurmtune;
namespace fs = std::filesystem;

namespace {

// The files of the source tree that must be embedded, sorted.
std::vector<std::string> expected_paths() {
  const std::vector<std::pair<std::string, std::string>> kinds = {
      {"scripts/sbatch", ".sbatch"},
      {"site-configs", ".toml"},
      {"src/slurmtune/runner/judge", ".toml"},
      {"templates", ".json"},
      {"templates", ".toml"},
  };
  std::vector<std::string> paths;
  for (const auto& [directory, extension] : kinds) {
    const fs::path full = fs::path(SLURMTUNE_SOURCE_DIR) / directory;
    if (!fs::exists(full)) continue;
    for (const auto& entry : fs::directory_iterator(full)) {
      if (entry.path().extension() != extension) continue;
      paths.push_back(directory + "/" + entry.path().filename().string());
    }
  }
  std::ranges::sort(paths);
  return paths;
}

}  // namespace

TEST_CASE("embedded_files: lists exactly the files of the source tree, sorted", "[base]") {
  std::vector<std::string> embedded;
  for (const EmbeddedFile& file : embedded_files()) embedded.emplace_back(file.path);
  CHECK(embedded == expected_paths());
}

TEST_CASE("embedded_file: every file has the bytes of the source tree", "[base]") {
  for (const std::string& path : expected_paths()) {
    INFO(path);
    std::ifstream in(SLURMTUNE_SOURCE_DIR "/" + path, std::ios::binary);
    REQUIRE(in);
    const std::string on_disk{std::istreambuf_iterator<char>(in), {}};
    const auto text = embedded_file(path);
    REQUIRE(text.has_value());
    CHECK(*text == on_disk);
  }
}

TEST_CASE("embedded_file: a path that is not there has no text", "[base]") {
  CHECK_FALSE(embedded_file("templates/zero9.json").has_value());
  CHECK_FALSE(embedded_file("").has_value());
}
