// SPDX-License-Identifier: MIT
#include "tests/support/catch.hpp"
#include "tests/unit/search/past.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

TEST_CASE("curve: nothing worked, nothing to refine", "[search]") {
  Past past(deepspeed_input());
  CHECK(propose_curve(past.context(), 8).empty());
  past.ended(zero(0, 1), Outcome::gpu_oom);
  CHECK(propose_curve(past.context(), 8).empty());
}

TEST_CASE("curve: where larger is clearly better, smaller ones are not tried", "[search]") {
  Past past(deepspeed_input());
  past.ran({zero(1, 1), zero(1, 4), zero(1, 6)}).ended(zero(1, 8), Outcome::gpu_oom);
  past.ended(zero(0, 1), Outcome::gpu_oom).ended(zero(2, 1), Outcome::gpu_oom);
  past.ended(zero(3, 1), Outcome::gpu_oom);
  CHECK(propose_curve(past.context(), 8).empty());
}

TEST_CASE("curve: on a flat curve the untried ones near the best are tried, three at most",
          "[search]") {
  Machine flat = usual_machine();
  flat.gpu_bytes = 200.0 * gib;
  for (auto& [stage, cost] : flat.stages) cost.fixed_s = 1e-5;
  Past past(deepspeed_input(), flat);
  past.ran({zero(0, 1), zero(0, 4), zero(0, 32)});
  const auto proposals = propose_curve(past.context(), 8);
  CHECK_FALSE(proposals.empty());
  CHECK(proposals.size() <= 3);
  for (const Proposal& proposal : proposals) {
    CHECK(proposal.purpose == Purpose::curve);
    CHECK(proposal.configuration.integer(zero_stage_parameter) == 0);
  }
  CHECK(propose_curve(past.context(), 1).size() == 1);
}

TEST_CASE("curve: what does not fit is never tried", "[search]") {
  Machine flat = usual_machine();
  for (auto& [stage, cost] : flat.stages) cost.fixed_s = 1e-5;
  Past past(deepspeed_input(), flat);
  past.ran({zero(1, 1), zero(1, 4)}).ended(zero(1, 6), Outcome::gpu_oom);
  for (const Proposal& proposal : propose_curve(past.context(), 8)) {
    CHECK(*proposal.configuration.integer(micro_batch_parameter) < 6);
  }
}
