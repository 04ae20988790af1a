// SPDX-License-Identifier: MIT
#include <algorithm>

#include "tests/support/catch.hpp"
#include "tests/unit/search/past.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

TEST_CASE("profile: the baseline first, then two micro-batches of each ZeRO stage", "[search]") {
  Past past(deepspeed_input());
  const auto proposals = propose_profile(past.context());
  CHECK(shown(proposals) == "z0:1 z0:4 z1:1 z1:4 z2:1 z2:4 z3:1 z3:4");
  CHECK(proposals.front().purpose == Purpose::baseline);
  CHECK(proposals.back().purpose == Purpose::profile);
}

TEST_CASE("profile: a baseline with a larger micro-batch is the second point of its stage",
          "[search]") {
  StudyInput input = deepspeed_input();
  input.spec.deepspeed->zero_stage = 1;
  input.spec.deepspeed->micro_batch = 8;
  Past past(input);
  CHECK(shown(propose_profile(past.context())) == "z1:8 z0:1 z0:4 z1:1 z2:1 z2:4 z3:1 z3:4");
}

TEST_CASE("profile: a ZeRO stage that cannot fit by the memory model is not run", "[search]") {
  StudyInput input = deepspeed_input();
  input.spec.model.params = 1.5e9;
  Past past(input);
  // The baseline is run all the same: "does not run" is an answer, too.
  CHECK(shown(propose_profile(past.context())) == "z0:1 z1:1 z1:4 z2:1 z2:4 z3:1 z3:4");
}

TEST_CASE("P-01: only the ZeRO stages that the user gave are profiled", "[search]") {
  StudyInput input = deepspeed_input();
  input.spec.deepspeed->zero_stages = {2};
  input.spec.deepspeed->zero_stages_given = true;
  input.spec.deepspeed->zero_stage = 2;
  Past past(input);
  CHECK(shown(propose_profile(past.context())) == "z2:1 z2:4");
}

TEST_CASE("profile: where nothing is within four times, the next one serves", "[search]") {
  Past past(deepspeed_input({2, 16, 32}));
  const std::string text = shown(propose_profile(past.context()));
  CHECK(text.find("z1:2 z1:16") != std::string::npos);
  Past single(deepspeed_input({2}));
  CHECK(shown(propose_profile(single.context())) == "z0:1 z0:2 z1:2 z2:2 z3:2");
}
