// SPDX-License-Identifier: MIT
#include "slurmtune/plan/listed_knobs.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

std::vector<std::string> notes_of(const StudyInput& input) {
  const auto space = make_space(input.spec);
  REQUIRE(space);
  const auto notes = unused_lists(input, *space);
  INFO((notes ? std::string() : notes.error().message));
  REQUIRE(notes);
  return *notes;
}

StudyInput listing(const std::string& zero, std::vector<int> stages) {
  StudyInput input = deepspeed_input();
  input.spec.deepspeed->config_path = "ds_config.json";
  input.spec.deepspeed->config_json = "{\"zero_optimization\": " + zero + "}";
  input.spec.deepspeed->zero_stages = std::move(stages);
  input.spec.deepspeed->zero_stage = input.spec.deepspeed->zero_stages.front();
  input.spec.deepspeed->fast = false;
  return input;
}

}  // namespace

TEST_CASE("listed knobs: what is tried needs no word", "[plan]") {
  CHECK(notes_of(deepspeed_input()).empty());
  CHECK(notes_of(listing(R"({"reduce_bucket_size": [100000000, 500000000]})", {1, 2})).empty());
}

TEST_CASE("listed knobs: with fast = true nothing chooses, and the first value is named",
          "[plan]") {
  StudyInput input = listing(R"({"reduce_bucket_size": [100000000, 500000000]})", {1});
  input.spec.deepspeed->fast = true;
  const auto notes = notes_of(input);
  REQUIRE(notes.size() == 1);
  CHECK(notes.front() ==
        "of the 2 values that ds_config.json lists for zero_optimization.reduce_bucket_size the "
        "first, 100000000, is used: fast = true tunes ZeRO stage and batch only; with fast = false "
        "they are tried");
  input.spec.deepspeed->config_json = R"({"zero_optimization": {"reduce_bucket_size": [1]}})";
  CHECK(notes_of(input).empty());
}

TEST_CASE("listed knobs: a list that a ZeRO stage does not use is said", "[plan]") {
  const std::string sizes = R"({"stage3_prefetch_bucket_size": [5000000, 50000000]})";
  CHECK(notes_of(listing(sizes, {3})).empty());
  const auto none = notes_of(listing(sizes, {1, 2}));
  REQUIRE(none.size() == 1);
  CHECK(none.front().ends_with("it does not act under ZeRO 1, 2"));
  const auto some = notes_of(listing(sizes, {2, 3}));
  REQUIRE(some.size() == 1);
  CHECK(some.front().ends_with("it acts under ZeRO 3 only, not under 2"));
}
