// SPDX-License-Identifier: MIT
#include <set>

#include "tests/support/catch.hpp"
#include "tests/unit/search/past.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

Past profiled(StudyInput input, const Machine& machine = usual_machine()) {
  Past past(std::move(input), machine);
  past.ran({zero(0, 1), zero(0, 4), zero(1, 1), zero(1, 4), zero(2, 1), zero(2, 4), zero(3, 1),
            zero(3, 4)});
  return past;
}

}  // namespace

TEST_CASE("frontier: open stages share the width, closed ones get none", "[search]") {
  Past past = profiled(deepspeed_input());
  const auto proposals = propose_frontier(past.context(), 8);
  std::set<std::int64_t> stages;
  for (const Proposal& proposal : proposals) {
    stages.insert(*proposal.configuration.integer(zero_stage_parameter));
    CHECK(proposal.purpose == Purpose::frontier);
    REQUIRE(proposal.expected.fit_probability);
    CHECK(*proposal.expected.fit_probability >= 0.0);
    CHECK(*proposal.expected.fit_probability <= 1.0);
    // Of stage 0 one micro-batch was measured, and none failed otherwise: no fit, no law.
    const bool modelled = proposal.configuration.integer(zero_stage_parameter) != 0;
    CHECK(proposal.expected.peak_gpu_bytes.has_value() == modelled);
    CHECK(proposal.expected.step_s.has_value() == modelled);
  }
  CHECK(stages == std::set<std::int64_t>{0, 1, 2});  // 3 cannot win
  CHECK(proposals.size() <= 8);
}

TEST_CASE("frontier: never more than the width, and always something", "[search]") {
  Machine blind = usual_machine();
  blind.tells_memory = false;
  Past past = profiled(deepspeed_input(), blind);
  for (std::size_t width = 1; width < 12; ++width) {
    const auto proposals = propose_frontier(past.context(), width);
    CHECK_FALSE(proposals.empty());
    CHECK(proposals.size() <= width);
  }
}

TEST_CASE("frontier: a narrow round goes to the most promising stage", "[search]") {
  Past past = profiled(deepspeed_input());
  past.ran({zero(0, 2), zero(0, 3)});
  const auto proposals = propose_frontier(past.context(), 1);
  REQUIRE(proposals.size() == 1);
  CHECK(shown(proposals) == "z1:6");  // stage 2 may fit 6, too, but is slower
}

TEST_CASE("frontier: a stage that waits for another try is not probed", "[search]") {
  Past past(deepspeed_input());
  past.ended(zero(0, 1), Outcome::preempted)
      .ended(zero(1, 1), Outcome::crashed)
      .ended(zero(2, 1), Outcome::gpu_oom)
      .ended(zero(3, 1), Outcome::config_error);
  CHECK(propose_frontier(past.context(), 8).empty());
}

TEST_CASE("frontier: nothing is proposed twice, and the question ends", "[search]") {
  Machine blind = usual_machine();
  blind.tells_memory = false;
  Past past = profiled(deepspeed_input(), blind);
  std::set<Configuration> asked;
  int rounds = 0;
  for (; rounds < 10; ++rounds) {
    const auto proposals = propose_frontier(past.context(), 8);
    if (proposals.empty()) break;
    for (const Proposal& proposal : proposals) {
      CHECK(asked.insert(proposal.configuration).second);
      past.ran({proposal.configuration});
    }
  }
  CHECK(rounds <= 4);
  CHECK(past.facts(1).fits == 6);
  CHECK(past.facts(1).fails == 8);
}

TEST_CASE("frontier: a larger micro-batch that gains too little is no question", "[search]") {
  Machine flat = usual_machine();
  for (auto& [stage, cost] : flat.stages) cost.fixed_s = 1e-6;
  flat.stages[1].sample_s = flat.stages[0].sample_s * 0.8;
  StudyInput input = deepspeed_input();
  input.spec.search.stop_gain = 0.10;
  Past past = profiled(input, flat);
  past.ran({zero(0, 2), zero(0, 3)});
  CHECK(propose_frontier(past.context(), 8).empty());
  CHECK(past.facts(1).standing == Standing::little_gain);
}

TEST_CASE("frontier: the same past gives the same proposals", "[search]") {
  Past past = profiled(deepspeed_input());
  CHECK(propose_frontier(past.context(), 8) == propose_frontier(past.context(), 8));
}

TEST_CASE("frontier: what exceeds the node's memory bounds the search as a GPU's end does",
          "[search]") {
  // Probes had gone down by one from what failed, since the belief knew of GPUs only.
  StageFacts facts;
  for (std::int64_t micro_batch = 1; micro_batch <= 64; ++micro_batch) {
    facts.admissible.push_back(micro_batch);
    facts.unasked.push_back(micro_batch);
  }
  facts.fits = 16;
  facts.fails_host = 36;
  CHECK(facts.boundary().survival(36) == 0.0);
  const auto host = facts.boundary().probes(facts.between(), 1);
  REQUIRE(host.size() == 1);
  CHECK(host.front() > 17);
  CHECK(host.front() < 30);
  facts.fails = 36;
  facts.fails_host.reset();
  CHECK(facts.boundary().probes(facts.between(), 1) == host);
}
