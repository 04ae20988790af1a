// SPDX-License-Identifier: MIT
#include <set>

#include "tests/support/catch.hpp"
#include "tests/unit/search/past.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

TEST_CASE("grid: every valid configuration once, the baseline first", "[search]") {
  Past past(deepspeed_input());
  const auto proposals = propose_grid(past.context());
  REQUIRE(proposals);
  CHECK(proposals->size() == 40);
  CHECK(proposals->front().configuration == zero(0, 1));
  CHECK(proposals->front().purpose == Purpose::baseline);
  std::set<Configuration> different;
  for (const Proposal& proposal : *proposals) different.insert(proposal.configuration);
  CHECK(different.size() == 40);
}

TEST_CASE("grid: a baseline outside of the space comes on top", "[search]") {
  Past past(deepspeed_input({2, 4}));
  const auto proposals = propose_grid(past.context());
  REQUIRE(proposals);
  CHECK(proposals->size() == 9);
}

TEST_CASE("grid: what was asked for is not proposed again", "[search]") {
  Past past(deepspeed_input());
  past.ran({zero(1, 4)}).ended(zero(0, 1), Outcome::gpu_oom);
  const auto proposals = propose_grid(past.context());
  REQUIRE(proposals);
  CHECK(proposals->size() == 38);
  CHECK(shown(*proposals).find("z1:4") == std::string::npos);
}
