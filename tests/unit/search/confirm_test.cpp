// SPDX-License-Identifier: MIT
#include <map>

#include "slurmtune/search/stage_facts.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/search/past.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

/// A past in which single readings came out as given.
class Measured {
 public:
  explicit Measured(const std::map<Configuration, double>& throughputs) {
    Machine machine = usual_machine();
    machine.whim = [throughputs](const Experiment& experiment) -> std::optional<Verdict> {
      return ok(experiment, throughputs.at(experiment.configuration));
    };
    past_.emplace(deepspeed_input(), machine);
    for (const auto& [configuration, throughput] : throughputs) past_->ran({configuration});
  }
  Past* operator->() { return &*past_; }

 private:
  std::optional<Past> past_;
};

}  // namespace

TEST_CASE("confirm: nothing worked, nothing to confirm", "[search]") {
  Past past(deepspeed_input());
  past.ended(zero(0, 1), Outcome::gpu_oom);
  CHECK(propose_confirm(past.context()).empty());
}

TEST_CASE("confirm: leaders and baseline, three repeats, in balanced order", "[search]") {
  Measured past({{zero(0, 1), 60.0}, {zero(1, 4), 100.0}, {zero(2, 6), 99.0}, {zero(3, 6), 80.0}});
  const auto proposals = propose_confirm(past->context());
  CHECK(shown(proposals) == "z1:4r1 z2:6r1 z0:1r1 z2:6r2 z0:1r2 z1:4r2 z0:1r3 z1:4r3 z2:6r3");
  for (const Proposal& proposal : proposals) CHECK(proposal.purpose == Purpose::confirm);
}

TEST_CASE("confirm: four are followed by each other equally often", "[search]") {
  Measured past({{zero(0, 1), 60.0}, {zero(1, 4), 100.0}, {zero(2, 6), 99.0}, {zero(3, 6), 98.5}});
  const auto proposals = propose_confirm(past->context());
  REQUIRE(proposals.size() == 12);
  std::map<std::pair<Configuration, Configuration>, int> follows;
  std::map<Configuration, int> first;
  for (std::size_t i = 0; i < proposals.size(); ++i) {
    if (i % 4 == 0) {
      ++first[proposals[i].configuration];
      continue;
    }
    ++follows[{proposals[i - 1].configuration, proposals[i].configuration}];
  }
  for (const auto& [pair, count] : follows) CHECK(count == 1);
  for (const auto& [configuration, count] : first) CHECK(count == 1);
}

TEST_CASE("confirm: at most three leaders besides the baseline, and the baseline may be one",
          "[search]") {
  Measured many({{zero(0, 1), 60.0},
                 {zero(1, 4), 100.0},
                 {zero(1, 6), 100.0},
                 {zero(2, 6), 100.0},
                 {zero(3, 6), 100.0}});
  CHECK(propose_confirm(many->context()).size() == 12);
  Measured best({{zero(0, 1), 100.0}, {zero(1, 4), 60.0}});
  CHECK(shown(propose_confirm(best->context())) == "z0:1r1 z0:1r2 z0:1r3");
}

TEST_CASE("confirm: a clear winner needs no second round", "[search]") {
  Measured past({{zero(0, 1), 60.0}, {zero(1, 4), 100.0}});
  for (int repeat = 1; repeat <= 3; ++repeat) {
    past->repeated(zero(1, 4), repeat, 100.0 + repeat);
    past->repeated(zero(0, 1), repeat, 60.0 + repeat);
  }
  CHECK(propose_confirm(past->context()).empty());
}

TEST_CASE("confirm: two that cannot be told apart are repeated, if it may matter", "[search]") {
  const auto compared = [](double gap, double noise) {
    Measured past({{zero(0, 1), 60.0}, {zero(1, 4), 100.0}, {zero(2, 6), 100.0}});
    const double swing[] = {-1.0, 1.0, 0.2};
    for (int repeat = 1; repeat <= 3; ++repeat) {
      past->repeated(zero(1, 4), repeat, 100.0 * (1.0 + gap + noise * swing[repeat - 1]));
      past->repeated(zero(2, 6), repeat, 100.0);
      past->repeated(zero(0, 1), repeat, 60.0);
    }
    return shown(propose_confirm(past->context()));
  };
  CHECK(compared(0.02, 0.015) == "z1:4r4 z2:6r4 z2:6r5 z1:4r5 z1:4r6 z2:6r6");
  CHECK(compared(0.001, 0.001).empty());  // the gap is below search.stop_gain
  CHECK(compared(0.30, 0.015).empty());   // decided
  CHECK(compared(0.001, 0.20).empty());   // three more would not tell
}

TEST_CASE("confirm: when the leader turns out to have been lucky, those behind it are repeated",
          "[search]") {
  Measured past({{zero(0, 1), 60.0}, {zero(1, 4), 140.0}, {zero(2, 6), 100.0}, {zero(3, 6), 80.0}});
  for (int repeat = 1; repeat <= 3; ++repeat) {
    past->repeated(zero(1, 4), repeat, 90.0 + repeat).repeated(zero(0, 1), repeat, 60.0);
  }
  CHECK(shown(propose_confirm(past->context())) == "z1:4r4 z2:6r4 z2:6r5 z1:4r5 z1:4r6 z2:6r6");
}

TEST_CASE("confirm: repeats that were lost for good are made up for", "[search]") {
  Measured past({{zero(0, 1), 60.0}, {zero(1, 4), 100.0}});
  past->repeated(zero(1, 4), 1, 100.0).repeated(zero(1, 4), 2, 0.0).repeated(zero(1, 4), 3, 101.0);
  past->repeated(zero(0, 1), 1, 60.0).repeated(zero(0, 1), 2, 60.0).repeated(zero(0, 1), 3, 60.0);
  CHECK(shown(propose_confirm(past->context())) == "z1:4r4");
}

TEST_CASE("confirm: what lost every repeat is given up", "[search]") {
  Measured past({{zero(0, 1), 60.0}, {zero(1, 4), 100.0}});
  for (int repeat = 1; repeat <= 3; ++repeat) {
    past->repeated(zero(1, 4), repeat, 0.0).repeated(zero(0, 1), repeat, 60.0);
  }
  CHECK(propose_confirm(past->context()).empty());
}

TEST_CASE("confirm: what runs out of memory in a repeat is out, and not repeated", "[search]") {
  // Of five repeats on a node whose memory was nearly full two worked, and it was the winner.
  Measured past({{zero(0, 1), 60.0}, {zero(1, 4), 100.0}, {zero(2, 6), 96.0}});
  for (int repeat = 1; repeat <= 3; ++repeat) {
    past->repeated(zero(2, 6), repeat, 96.0).repeated(zero(0, 1), repeat, 60.0);
  }
  past->repeated(zero(1, 4), 1, 100.0).exhausted(zero(1, 4), 2).repeated(zero(1, 4), 3, 100.0);
  CHECK(leader_of(past->context())->configuration == zero(2, 6));
  CHECK(propose_confirm(past->context()).empty());
}

TEST_CASE("confirm: where all that was repeated ran out of memory, the next are", "[search]") {
  Measured past({{zero(1, 4), 100.0}, {zero(2, 6), 80.0}});
  past->exhausted(zero(1, 4), 1);
  CHECK(shown(propose_confirm(past->context())) == "z2:6r2 z2:6r3 z2:6r4");
  // With nothing else it stays what was measured.
  Measured alone({{zero(1, 4), 100.0}});
  alone->repeated(zero(1, 4), 1, 100.0).exhausted(zero(1, 4), 2);
  CHECK(leader_of(alone->context())->configuration == zero(1, 4));
}

namespace {

/// The same where a round of experiments waits for nothing.
std::string without_queue(Measured& past) {
  past->input.site.no_queue = true;
  return shown(propose_confirm(past->context()));
}

}  // namespace

TEST_CASE("confirm: without a queue a round has one repeat of each", "[search]") {
  Measured past({{zero(0, 1), 60.0}, {zero(1, 4), 100.0}, {zero(2, 6), 99.0}, {zero(3, 6), 80.0}});
  CHECK(without_queue(past) == "z1:4r1 z2:6r1 z0:1r1");
}

TEST_CASE("confirm: single repeats that differ by less than runs do are repeated, others are not",
          "[search]") {
  const std::map<Configuration, double> measured{
      {zero(0, 1), 60.0}, {zero(1, 4), 100.0}, {zero(2, 6), 99.0}};
  Measured near(measured);
  near->repeated(zero(1, 4), 1, 101.0).repeated(zero(2, 6), 1, 99.0).repeated(zero(0, 1), 1, 60.0);
  CHECK(without_queue(near) == "z1:4r2 z2:6r2");
  Measured far(measured);
  far->repeated(zero(1, 4), 1, 110.0).repeated(zero(2, 6), 1, 99.0).repeated(zero(0, 1), 1, 60.0);
  CHECK(without_queue(far).empty());
}

TEST_CASE("confirm: a single repeat far below what the search saw is repeated", "[search]") {
  Measured past({{zero(0, 1), 60.0}, {zero(1, 4), 100.0}, {zero(2, 6), 104.0}});
  past->repeated(zero(1, 4), 1, 101.0).repeated(zero(2, 6), 1, 70.0).repeated(zero(0, 1), 1, 60.0);
  CHECK(without_queue(past) == "z1:4r2 z2:6r2");
}
