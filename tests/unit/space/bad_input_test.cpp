// SPDX-License-Identifier: MIT
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "slurmtune/input/study_input.hpp"
#include "slurmtune/space/space.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;
namespace fs = std::filesystem;

namespace {

const fs::path fixtures = fs::path(SLURMTUNE_SOURCE_DIR) / "tests/golden/bad-input";

std::optional<std::string> text_of(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string{std::istreambuf_iterator<char>(in), {}};
}

std::vector<fs::path> cases() {
  std::vector<fs::path> paths;
  for (const auto& entry : fs::directory_iterator(fixtures)) {
    if (fs::exists(entry.path() / "study.toml")) paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

// What a planner asks of a study: read it, make its space, see that it is not empty.
Expected<void> plan_study(const fs::path& directory) {
  StudySources sources;
  sources.study = {"study.toml", text_of(directory / "study.toml").value()};
  sources.site = {"generic.toml", "name = \"generic\"\n"};
  if (auto config = text_of(directory / "ds_config.json")) {
    sources.ds_config = SourceText{"ds_config.json", *std::move(config)};
  }
  SLURMTUNE_TRY(const StudyInput input, read_study(sources));
  SLURMTUNE_TRY(const Space space, make_space(input.spec));
  SLURMTUNE_CHECK(space.enumerate(100'000));
  return {};
}

}  // namespace

TEST_CASE("bad input: every fixture is refused with exactly the expected message", "[space]") {
  const auto directories = cases();
  REQUIRE(directories.size() >= 20);
  for (const fs::path& directory : directories) {
    INFO(directory.filename().string());
    const auto expected = text_of(directory / "expected.txt");
    const auto outcome = plan_study(directory);
    CHECK(expected.has_value());
    REQUIRE_FALSE(outcome.has_value());
    CHECK(outcome.error().kind == ErrorKind::invalid_input);
    CHECK(outcome.error().message + "\n" == expected.value_or(""));
  }
}
