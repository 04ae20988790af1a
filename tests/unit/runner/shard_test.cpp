// SPDX-License-Identifier: MIT
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include <sys/resource.h>

#include "slurmtune/runner/shard_writer.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

/// A directory of its own, removed at the end.
class Scratch {
 public:
  Scratch() {
    std::string name = (fs::temp_directory_path() / "slurmtune-shard-XXXXXX").string();
    REQUIRE(::mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  Scratch(const Scratch&) = delete;
  Scratch& operator=(const Scratch&) = delete;
  ~Scratch() { fs::remove_all(path_); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

TaskStart start() {
  TaskStart start;
  start.study.text = "6b1f";
  start.stage.text = "01-profile";
  start.array_job = 4711;
  start.slice = 3;
  return start;
}

Verdict verdict(const char* experiment, Outcome outcome) {
  Verdict verdict;
  verdict.experiment.text = experiment;
  verdict.configuration.text = "c";
  verdict.outcome = outcome;
  return verdict;
}

}  // namespace

TEST_CASE("ShardWriter: what is written is what a reader gets", "[runner]") {
  const Scratch scratch;
  auto writer = ShardWriter::create(scratch.path() / "verdicts", start());
  REQUIRE(writer.has_value());
  REQUIRE(writer->write(verdict("e1", Outcome::ok)).has_value());
  REQUIRE(writer->write(Heartbeat{}).has_value());
  REQUIRE(writer->write(TaskEnd{{}, "done", 12}).has_value());
  CHECK(fs::exists(scratch.path() / "verdicts" / "4711_3.0.jsonl"));
  const auto shards = earlier_shards(scratch.path() / "verdicts", 4711, 3);
  REQUIRE(shards.has_value());
  REQUIRE(shards->size() == 1);
  CHECK(shards->front().verdicts.size() == 1);
  CHECK(shards->front().end->node_seconds == 12);
}

TEST_CASE("ShardWriter: of a line that did not fit nothing is left", "[runner]") {
  const Scratch scratch;
  auto writer = ShardWriter::create(scratch.path(), start());
  REQUIRE(writer.has_value());
  REQUIRE(writer->write(verdict("e1", Outcome::ok)).has_value());
  const auto size = fs::file_size(scratch.path() / "4711_3.0.jsonl");

  // A disk that is full after ten more bytes.
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_FSIZE, &before) == 0);
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  const rlimit full{size + 10, before.rlim_max};
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &full) == 0);
  const auto written = writer->write(verdict("e2", Outcome::ok));
  REQUIRE(::setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, old_handler);
  CHECK_FALSE(written.has_value());
  CHECK(fs::file_size(scratch.path() / "4711_3.0.jsonl") == size);

  REQUIRE(writer->write(TaskEnd{{}, "done", 12}).has_value());
  const auto shards = earlier_shards(scratch.path(), 4711, 3);
  REQUIRE(shards.has_value());
  CHECK(shards->front().verdicts.size() == 1);
  CHECK(shards->front().end.has_value());
}

TEST_CASE("ShardWriter: a shard has one writer; the next run takes the next number", "[runner]") {
  const Scratch scratch;
  const auto first = ShardWriter::create(scratch.path(), start());
  const auto second = ShardWriter::create(scratch.path(), start());
  REQUIRE((first && second));
  CHECK(first->start().restart == 0);
  CHECK(second->start().restart == 1);
  CHECK(fs::exists(scratch.path() / "4711_3.1.jsonl"));
}

TEST_CASE("earlier_shards: a torn first line and other slices are passed over", "[runner]") {
  const Scratch scratch;
  std::ofstream(scratch.path() / "4711_3.0.jsonl") << "{\"format\":\"slurm";
  std::ofstream(scratch.path() / "4711_3.1.jsonl") << "";
  TaskStart later = start();
  later.restart = 2;
  REQUIRE(ShardWriter::create(scratch.path(), later).has_value());
  TaskStart other = start();
  other.slice = 4;
  REQUIRE(ShardWriter::create(scratch.path(), other).has_value());
  const auto shards = earlier_shards(scratch.path(), 4711, 3);
  REQUIRE(shards.has_value());
  REQUIRE(shards->size() == 1);
  CHECK(shards->front().start.restart == 2);
}

TEST_CASE("ShardWriter: a directory that cannot be written is named", "[runner]") {
  const auto writer = ShardWriter::create("/proc/nowhere", start());
  REQUIRE_FALSE(writer.has_value());
  CHECK(writer.error().kind == ErrorKind::unavailable);
}

}  // namespace slurmtune
