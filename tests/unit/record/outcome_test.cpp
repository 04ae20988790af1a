// SPDX-License-Identifier: MIT
#include "slurmtune/record/outcome.hpp"

#include <cstddef>
#include <set>
#include <string_view>

#include "tests/support/catch.hpp"

using namespace slurmtune;

TEST_CASE("outcome_rules: has one row for each outcome, in the order of the enum", "[record]") {
  const auto rules = outcome_rules();
  REQUIRE(rules.size() == static_cast<std::size_t>(Outcome::not_started) + 1);
  std::set<std::string_view> names;
  for (std::size_t i = 0; i < rules.size(); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    CHECK(rules[i].outcome == outcome);
    CHECK(&rule_of(outcome) == &rules[i]);
    CHECK(name_of(outcome) == rules[i].name);
    CHECK(outcome_named(rules[i].name) == outcome);
    CHECK_FALSE(rules[i].meaning.empty());
    names.insert(rules[i].name);
  }
  CHECK(names.size() == rules.size());
  CHECK_FALSE(outcome_named("OK").has_value());
  CHECK_FALSE(outcome_named("").has_value());
}

TEST_CASE("outcome_rules: only memory outcomes and whole runs move memory bounds", "[record]") {
  for (const OutcomeRule& rule : outcome_rules()) {
    INFO(rule.name);
    const bool ran = rule.outcome == Outcome::ok || rule.outcome == Outcome::nan;
    CHECK((rule.memory == MemoryEvidence::fits) == ran);
    CHECK((rule.memory == MemoryEvidence::exceeds_gpu) == (rule.outcome == Outcome::gpu_oom));
    CHECK((rule.memory == MemoryEvidence::exceeds_host) == (rule.outcome == Outcome::host_oom));
    CHECK(rule.rankable == (rule.outcome == Outcome::ok));
  }
}

TEST_CASE("outcome_rules: what was not the trial's doing does not count as tried", "[record]") {
  const std::set<Outcome> not_tried{Outcome::launch_error, Outcome::storage_error,
                                    Outcome::preempted,    Outcome::node_failure,
                                    Outcome::cancelled,    Outcome::not_started};
  for (const OutcomeRule& rule : outcome_rules()) {
    INFO(rule.name);
    CHECK(rule.counts_as_tried == !not_tried.contains(rule.outcome));
  }
}

TEST_CASE("is_tried_again: as often as the table says", "[record]") {
  const auto tries_at_most = [](Outcome outcome) {
    int tries = 1;
    while (tries < 100 && is_tried_again(outcome, tries)) ++tries;
    return tries;
  };
  for (const Outcome never : {Outcome::ok, Outcome::gpu_oom, Outcome::host_oom, Outcome::nan,
                              Outcome::config_error, Outcome::storage_error}) {
    CHECK(tries_at_most(never) == 1);
  }
  for (const Outcome once : {Outcome::timeout, Outcome::hang, Outcome::crashed}) {
    CHECK(tries_at_most(once) == 2);
  }
  CHECK(tries_at_most(Outcome::launch_error) == 3);
  for (const Outcome always :
       {Outcome::preempted, Outcome::node_failure, Outcome::cancelled, Outcome::not_started}) {
    CHECK(tries_at_most(always) == 100);
  }
  CHECK(rule_of(Outcome::storage_error).retry == Retry::stops_study);
}
