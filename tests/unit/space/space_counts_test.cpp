// SPDX-License-Identifier: MIT
#include "slurmtune/space/space_counts.hpp"

#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

Space space_of(const StudyInput& input) {
  auto space = make_space(input.spec);
  INFO((space ? std::string() : space.error().message));
  REQUIRE(space);
  return *std::move(space);
}

/// x and y from 1, 2, 4, and constraints on lines 10, 11, …
Space space_with(const std::vector<std::string>& constraints) {
  StudyInput input = generic_input();
  int line = 10;
  for (const std::string& each : constraints) input.spec.constraints.push_back({each, line++});
  return space_of(input);
}

SpaceCounts counted(const Space& space) {
  auto counts = count_space(space);
  INFO((counts ? std::string() : counts.error().message));
  REQUIRE(counts);
  return *std::move(counts);
}

}  // namespace

TEST_CASE("count_space: what each constraint removes alone, and what only it removes", "[space]") {
  const SpaceCounts counts = counted(space_with({"x <= y", "x < 4"}));
  CHECK(counts.combinations == 9.0);
  CHECK(counts.applicable == 9.0);
  CHECK(counts.valid == 5.0);  // of 6 with x <= y one has x = 4
  REQUIRE(counts.effects.size() == 2);
  CHECK(counts.effects[0].demand == Demand{"study.toml:10", "x <= y"});
  CHECK(counts.effects[0].removed_share.value() == Approx(3.0 / 9.0));
  CHECK(counts.effects[0].removed_alone == 1.0);
  CHECK(counts.effects[1].removed_share.value() == Approx(3.0 / 9.0));
  CHECK(counts.effects[1].removed_alone == 1.0);
  CHECK(counts.conflict.empty());
}

TEST_CASE("count_space: combinations without a condition are one", "[space]") {
  StudyInput input = generic_input();
  input.spec.parameters[1].when = "x > 1";
  const SpaceCounts counts = counted(space_of(input));
  CHECK(counts.combinations == 9.0);
  CHECK(counts.applicable == 7.0);
  CHECK(counts.valid == 7.0);
}

TEST_CASE("count_space: an empty space names constraints none of which can stay", "[space]") {
  SECTION("one") {
    const Space space = space_with({"x < 4", "y > 4", "x <= y"});
    const SpaceCounts counts = counted(space);
    CHECK(counts.valid == 0.0);
    CHECK(counts.conflict == std::vector<Demand>{{"study.toml:11", "y > 4"}});
    CHECK(nothing_valid(space, counts.conflict).message ==
          "study.toml:11: no configuration is left: \"y > 4\" holds for none; loosen it");
  }
  SECTION("three of four") {
    const Space space = space_with({"x < y", "x + y > 2", "x > 1", "y < 4"});
    const SpaceCounts counts = counted(space);
    CHECK(counts.conflict.size() == 3);
    CHECK(nothing_valid(space, counts.conflict).message ==
          "study.toml:10: no configuration is left: \"x < y\" cannot hold together with \"x > 1\" "
          "(study.toml:12) and \"y < 4\" (study.toml:13); loosen one of them");
  }
  SECTION("that speaks of no parameter") {
    const SpaceCounts counts = counted(space_with({"nodes > 1000", "x < 4"}));
    CHECK(counts.conflict == std::vector<Demand>{{"study.toml:10", "nodes > 1000"}});
  }
}

TEST_CASE("count_space: the batch rule is one of the demands", "[space]") {
  StudyInput input = deepspeed_input({3, 5});
  input.spec.batch.global = 64;
  input.spec.batch.where = "study.toml:7";
  const Space space = space_of(input);
  const SpaceCounts counts = counted(space);
  CHECK(counts.valid == 0.0);
  CHECK(counts.applicable == 8.0);
  REQUIRE(counts.conflict.size() == 1);
  CHECK(counts.conflict[0].where == "study.toml:7");
  CHECK(nothing_valid(space, counts.conflict).message ==
        "study.toml:7: no configuration is left: \"micro_batch x 4 ranks divides the global batch "
        "64\" holds for none; loosen it");
}

TEST_CASE("count_space: a space of more than 2^63 configurations is refused, with its place",
          "[space]") {
  StudyInput input = generic_input();
  for (int i = 0; i < 40; ++i) {
    ParameterSpec parameter = input.spec.parameters[0];
    parameter.name = "p" + std::to_string(i);
    input.spec.parameters.push_back(parameter);
  }
  const auto counts = count_space(space_of(input));
  REQUIRE_FALSE(counts);
  CHECK(counts.error().message ==
        "study.toml:1: 2^63 valid configurations or more; write fewer values");
}
