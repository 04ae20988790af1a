// SPDX-License-Identifier: MIT
#include "slurmtune/study/study_directory.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace slurmtune;

namespace {

namespace fs = std::filesystem;

const StageName stage{"01-grid"};

/// A study directory with one stage, into which shards are put.
struct Place {
  Place() : directory(home.path()) { fs::create_directories(directory.verdicts(stage)); }

  void put(const std::string& name, const std::vector<ShardLine>& lines) const {
    std::ofstream file(directory.verdicts(stage) / name);
    for (const ShardLine& line : lines) file << *render_shard_line(line) << '\n';
  }

  static TaskStart start(std::int64_t slice) {
    TaskStart start;
    start.stage = stage;
    start.slice = slice;
    start.array_job = 4711;
    return start;
  }

  TemporaryDirectory home;
  StudyDirectory directory;
};

TaskEnd done_after(std::int64_t node_seconds) {
  return {.at = {}, .reason = "done", .node_seconds = node_seconds};
}

}  // namespace

TEST_CASE("read_shards: one that has ended is read once, one that goes on each time", "[study]") {
  const Place place;
  EndedShards ended;
  place.put(shard_name(4711, 0, 0), {Place::start(0), done_after(10)});
  place.put(shard_name(4711, 1, 0), {Place::start(1)});
  REQUIRE(place.directory.read_shards(stage, {}, &ended)->size() == 2);
  CHECK(ended.size() == 1);
  // Nobody does that; it shows what is read.
  place.put(shard_name(4711, 0, 0), {Place::start(0), done_after(99)});
  place.put(shard_name(4711, 1, 0), {Place::start(1), done_after(20)});
  const auto shards = place.directory.read_shards(stage, {}, &ended);
  REQUIRE(shards);
  REQUIRE(shards->size() == 2);
  CHECK((*shards)[0].end->node_seconds == 10);
  CHECK((*shards)[1].end->node_seconds == 20);
  CHECK(place.directory.read_shards(stage, {})->at(0).end->node_seconds == 99);
}

TEST_CASE("read_shards: in the order of their names, whoever named them", "[study]") {
  const Place place;
  JobRecord job;
  job.stage = stage;
  job.job = 4711;
  job.tasks = 3;
  const JobRecord* jobs[] = {&job};
  place.put(shard_name(4711, 2, 0), {Place::start(2)});
  place.put(shard_name(4711, 0, 0), {Place::start(0), done_after(1)});
  place.put(shard_name(4711, 0, 1), {Place::start(0), done_after(2)});
  const auto shards = place.directory.read_shards(stage, jobs);
  REQUIRE(shards);
  REQUIRE(shards->size() == 3);
  CHECK((*shards)[0].end->node_seconds == 1);
  CHECK((*shards)[1].end->node_seconds == 2);
  CHECK((*shards)[2].start.slice == 2);
}
