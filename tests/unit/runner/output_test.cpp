// SPDX-License-Identifier: MIT
#include <filesystem>
#include <string>
#include <vector>

#include <unistd.h>

#include "slurmtune/base/random.hpp"
#include "slurmtune/runner/judge/recent_lines.hpp"
#include "slurmtune/runner/line_splitter.hpp"
#include "slurmtune/runner/trial_log.hpp"
#include "slurmtune/study/files.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

std::vector<std::string> split(const std::vector<std::string>& pieces) {
  std::vector<std::string> lines;
  const auto keep = [&](std::string_view line) { lines.emplace_back(line); };
  LineSplitter splitter;
  for (const std::string& piece : pieces) splitter.add(piece, keep);
  splitter.finish(keep);
  return lines;
}

fs::path scratch(const char* name) {
  const fs::path path =
      fs::temp_directory_path() / ("slurmtune-log-" + std::to_string(::getpid()) + "-" + name);
  fs::remove(path);
  return path;
}

}  // namespace

TEST_CASE("LineSplitter: lines come out whole, however the bytes arrive", "[runner]") {
  const std::vector<std::string> lines{"one", "two", "3%", "4%", "last"};
  const std::string text = "one\r\ntwo\n\n3%\r4%\rlast";
  CHECK(split({text}) == lines);
  Random random(Seed{3});
  for (int round = 0; round < 100; ++round) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t size = 1 + random.below(6);
      pieces.push_back(text.substr(at, size));
      at += size;
    }
    CHECK(split(pieces) == lines);
  }
}

TEST_CASE("LineSplitter: a line without end is cut", "[runner]") {
  const auto lines = split({std::string(40'000, 'x')});
  REQUIRE(lines.size() == 3);
  CHECK(lines[0].size() == 16384);
  CHECK(lines[0].size() + lines[1].size() + lines[2].size() == 40'000);
}

TEST_CASE("RecentLines: keeps what was said since the step before the last", "[runner]") {
  RecentLines recent;
  recent.add("old", std::nullopt, 0);
  recent.add("before", 1, 4);
  recent.add("last", std::nullopt, 5);
  CHECK(recent.texts() == std::vector<std::string>{"before", "last"});
  CHECK(recent.ranks() == std::vector<std::optional<int>>{1, std::nullopt});
  recent.add("others go on", 0, 9);
  CHECK(recent.texts().front() == "before");
  recent.add("and so does it", 1, 9);
  CHECK(recent.texts() == std::vector<std::string>{"last", "others go on", "and so does it"});
  for (int i = 0; i < 1000; ++i) recent.add("more", std::nullopt, 5);
  CHECK(recent.texts().size() == 300);
}

TEST_CASE("TrialLog: a success keeps its tail, a failure everything", "[runner]") {
  std::string text;
  for (int i = 0; text.size() < 200'000; ++i) text += "line " + std::to_string(i) + "\n";
  for (const KeepLog keep : {KeepLog::tail, KeepLog::whole}) {
    const fs::path path = scratch("kept");
    auto log = TrialLog::create(path);
    REQUIRE(log.has_value());
    for (std::size_t at = 0; at < text.size(); at += 1000) {
      REQUIRE(log->add(text.substr(at, 1000)).has_value());
    }
    REQUIRE(log->close(keep).has_value());
    const std::string kept = read_file(path).value();
    CHECK(kept == (keep == KeepLog::tail ? text.substr(text.size() - 65536) : text));
    fs::remove(path);
  }
}

TEST_CASE("TrialLog: output without end fills no disk; its beginning and end are kept",
          "[runner]") {
  const fs::path path = scratch("endless");
  auto log = TrialLog::create(path);
  REQUIRE(log.has_value());
  const std::string piece(1 << 20, 'x');
  for (int i = 0; i < 70; ++i) REQUIRE(log->add(piece).has_value());
  REQUIRE(log->add("the end\n").has_value());
  REQUIRE(log->close(KeepLog::whole).has_value());
  const std::string kept = read_file(path).value();
  CHECK(kept.size() < 65u << 20);
  CHECK(kept.find("bytes left out]") != std::string::npos);
  CHECK(kept.ends_with("the end\n"));
  fs::remove(path);
}

TEST_CASE("TrialLog: a log that cannot be made says where and why", "[runner]") {
  const auto log = TrialLog::create("/nowhere/x.log");
  REQUIRE_FALSE(log.has_value());
  CHECK(log.error().kind == ErrorKind::unavailable);
  CHECK(log.error().message.find("/nowhere/x.log") != std::string::npos);
}

}  // namespace slurmtune
