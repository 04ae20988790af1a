// SPDX-License-Identifier: MIT
#include "slurmtune/search/stage_facts.hpp"

#include <map>
#include <numeric>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/unit/search/past.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

TEST_CASE("stage facts: only memory outcomes move the bounds", "[search]") {
  Past past(deepspeed_input());
  past.ran({zero(1, 1), zero(1, 4)});
  const auto settled = [&](Outcome outcome) {
    Past changed = past;
    changed.ended(zero(1, 6), outcome, 3);
    return changed.facts(1);
  };
  for (const Outcome outcome :
       {Outcome::timeout, Outcome::hang, Outcome::config_error, Outcome::launch_error,
        Outcome::storage_error, Outcome::crashed, Outcome::preempted, Outcome::node_failure,
        Outcome::cancelled, Outcome::not_started}) {
    CAPTURE(name_of(outcome));
    const StageFacts facts = settled(outcome);
    CHECK(facts.fits == 4);
    CHECK_FALSE(facts.fails);
    CHECK_FALSE(facts.fails_host);
  }
  CHECK(settled(Outcome::nan).fits == 6);
  CHECK(settled(Outcome::gpu_oom).fails == 6);
  CHECK_FALSE(settled(Outcome::host_oom).fails);
  CHECK(settled(Outcome::host_oom).fails_host == 6);
}

TEST_CASE("stage facts: ZeRO stages are independent questions", "[search]") {
  Past past(deepspeed_input());
  past.ran({zero(0, 1), zero(1, 4)}).ended(zero(0, 4), Outcome::gpu_oom);
  CHECK(past.facts(0).fails == 4);
  CHECK(past.facts(1).fits == 4);
  CHECK_FALSE(past.facts(1).fails);
  CHECK_FALSE(past.facts(2).fits);
}

TEST_CASE("stage facts: a fit is believed more than a smaller failure", "[search]") {
  Past past(deepspeed_input());
  past.ran({zero(1, 6)}).ended(zero(1, 3), Outcome::gpu_oom).ended(zero(1, 12), Outcome::gpu_oom);
  CHECK(past.facts(1).fits == 6);
  CHECK(past.facts(1).fails == 12);
}

TEST_CASE("stage facts: the affine fit comes from peaks, with the model states where it must",
          "[search]") {
  StudyInput input = deepspeed_input();
  Past past(input);
  past.ran({zero(1, 1)});
  CHECK_FALSE(past.facts(1).memory);
  past.input.spec.model.params = 6.0 * gib / 7.0;  // 2+2+12/4 bytes: 6 GiB
  REQUIRE(past.facts(1).memory);
  CHECK(past.facts(1).memory->at(4) == Approx(12.4 * gib));
  past.ran({zero(1, 4)});
  CHECK(past.facts(1).memory->points == 2);
  CHECK(past.facts(1).memory->intercept == Approx(6.0 * gib));
}

TEST_CASE("stage facts: what surely does not fit is not between the bounds", "[search]") {
  Past past(deepspeed_input());
  past.ran({zero(1, 1), zero(1, 4)});
  // 6 + 1.6 m GiB of 16: 6 fits; 8 would need 18.8.
  CHECK(past.facts(1).between() == std::vector<std::int64_t>{6});
  past.machine.tells_memory = false;
  Past blind(deepspeed_input(), past.machine);
  blind.ran({zero(1, 1), zero(1, 4)});
  CHECK(blind.facts(1).between() == std::vector<std::int64_t>{6, 8, 12, 16, 24, 32});
}

TEST_CASE("stage facts: a stage that cannot fit is out by the model, until something fits",
          "[search]") {
  StudyInput input = deepspeed_input();
  input.spec.model.params = 1.5e9;
  Past past(input);
  CHECK(past.facts(0).standing == Standing::cannot_fit);
  CHECK(past.facts(0).because.find("22.4 GiB of 16.0 GiB") != std::string::npos);
  CHECK(past.facts(1).standing == Standing::open);
  past.ran({zero(0, 1)});
  CHECK(past.facts(0).standing != Standing::cannot_fit);
}

TEST_CASE("stage facts: a stage whose smallest micro-batch does not fit is out", "[search]") {
  Past past(deepspeed_input());
  past.ended(zero(2, 1), Outcome::gpu_oom);
  CHECK(past.facts(2).standing == Standing::cannot_fit);
  CHECK(is_out(past.facts(2).standing));
  past.ended(zero(3, 1), Outcome::host_oom);
  CHECK(past.facts(3).standing == Standing::cannot_fit);
  CHECK(past.facts(3).because.find("node") != std::string::npos);
}

TEST_CASE("stage facts: a stage waits for a second try, and is broken after it", "[search]") {
  Past waiting(deepspeed_input());
  waiting.ended(zero(2, 1), Outcome::crashed).ended(zero(2, 4), Outcome::preempted);
  CHECK(waiting.facts(2).standing == Standing::waiting);
  Past broken(deepspeed_input());
  broken.ended(zero(2, 1), Outcome::crashed, 2, "Segmentation fault");
  CHECK(broken.facts(2).standing == Standing::broken);
  CHECK(broken.facts(2).because == "does not run: crashed: Segmentation fault");
}

TEST_CASE("stage facts: a stage that cannot win is out, with figures", "[search]") {
  Past past(deepspeed_input());
  past.ran({zero(1, 1), zero(1, 4), zero(2, 4), zero(3, 1), zero(3, 4)});
  const StageFacts slow = past.facts(3);
  CHECK(slow.standing == Standing::cannot_win);
  CHECK(slow.because.find("cannot win: optimistic ") == 0);
  CHECK(slow.because.find("samples/s") != std::string::npos);
  CHECK(past.facts(1).standing == Standing::open);
}

TEST_CASE("stage facts: a leader that was measured badly does not end a search", "[search]") {
  Machine machine = usual_machine();
  double half = 0.005;
  machine.whim = [&](const Experiment& experiment) -> std::optional<Verdict> {
    if (experiment.configuration != zero(1, 4)) return std::nullopt;
    Verdict verdict = ok(experiment, 0.0);
    verdict.metrics.throughput = about(machine.true_throughput(zero(1, 4)), half);
    return verdict;
  };
  Past exact(deepspeed_input(), machine);
  exact.ran({zero(1, 1), zero(1, 4), zero(2, 4), zero(3, 1), zero(3, 4)});
  CHECK(exact.facts(3).standing == Standing::cannot_win);
  half = 0.5;
  Past vague(deepspeed_input(), machine);
  vague.ran({zero(1, 1), zero(1, 4), zero(2, 4), zero(3, 1), zero(3, 4)});
  CHECK(vague.facts(3).standing == Standing::open);
}

TEST_CASE("stage facts: where larger micro-batches have become slower, still larger ones are left",
          "[search]") {
  // DeepSpeed 0.14.4 on two cores: samples/s of ZeRO 0. A law of one slope cannot tell that
  // caches are outgrown, and took what was between 28 and the end of memory for open.
  const std::map<Configuration, double> measured{
      {zero(0, 1), 26.5}, {zero(0, 4), 52.8}, {zero(0, 16), 95.4}, {zero(0, 28), 69.4}};
  Machine machine = usual_machine();
  machine.tells_memory = false;
  machine.whim = [&](const Experiment& experiment) -> std::optional<Verdict> {
    const double throughput = measured.at(experiment.configuration);
    Verdict verdict = ok(experiment, throughput);
    const auto samples = static_cast<double>(machine.global_batch(experiment.configuration));
    verdict.metrics.throughput = about(throughput, 0.05);
    verdict.metrics.step_s = about(samples / throughput, 0.05);
    return verdict;
  };
  std::vector<std::int64_t> micro_batches(64);
  std::iota(micro_batches.begin(), micro_batches.end(), std::int64_t{1});
  Past past(deepspeed_input(micro_batches), machine);
  past.ran({zero(0, 1), zero(0, 4), zero(0, 16)});
  CHECK(past.facts(0).standing == Standing::open);
  past.ran({zero(0, 28)});
  CHECK(past.facts(0).standing == Standing::little_gain);
}

TEST_CASE("stage facts: with an objective that no model predicts, no stage is dropped as slow",
          "[search]") {
  StudyInput input = deepspeed_input();
  input.spec.objective.metric = "throughput / 2";
  Past past(input);
  past.ran({zero(1, 1), zero(1, 4), zero(2, 4), zero(3, 1), zero(3, 4)});
  CHECK(past.facts(3).standing == Standing::open);
}

TEST_CASE("stage facts: nothing left between fit and failure is settled", "[search]") {
  Past past(deepspeed_input());
  past.ran({zero(1, 1), zero(1, 4), zero(1, 6)}).ended(zero(1, 8), Outcome::gpu_oom);
  CHECK(past.facts(1).standing == Standing::settled);
  CHECK(past.facts(1).why.size() == 2);
}
