// SPDX-License-Identifier: MIT
#include <algorithm>

#include "slurmtune/search/rungs.hpp"

#include "tests/unit/search/past.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

const std::string zo = "zero_optimization.";
const std::string bucket = zo + "reduce_bucket_size";
const std::string device = zo + "offload_optimizer.device";

StudyInput not_fast(std::vector<std::int64_t> micro_batches = {1, 2, 4, 8, 16}) {
  StudyInput input = deepspeed_input(std::move(micro_batches));
  input.spec.deepspeed->fast = false;
  input.site.gpus_per_node = 2;
  input.spec.measure.min_steps = 4;
  input.spec.measure.max_steps = 20;
  return input;
}

Configuration with(Configuration configuration, const std::string& name, Value value) {
  configuration.values.insert_or_assign(name, std::move(value));
  return configuration;
}

std::vector<Proposal> proposed(Past& past, int round, std::size_t width) {
  auto proposals = propose_knobs(past.context(), round, width);
  INFO((proposals ? std::string() : proposals.error().message));
  REQUIRE(proposals);
  return *std::move(proposals);
}

bool proposes(const std::vector<Proposal>& proposals, const Configuration& configuration) {
  return std::ranges::count(proposals, configuration, &Proposal::configuration) == 1;
}

std::size_t knobs_in(const Configuration& configuration) {
  return static_cast<std::size_t>(
      std::ranges::count_if(configuration.values, [](const auto& entry) {
        return entry.first.find('.') != std::string::npos ||
               entry.first.find(':') != std::string::npos;
      }));
}

/// ZeRO 1 leads with 100 samples/s, ZeRO 2 follows within noise, ZeRO 0 does not.
Past led(StudyInput input = not_fast()) {
  Past past(std::move(input));
  past.tried(zero(0, 1), 20, 50.0);
  past.tried(zero(1, 4), 20, 100.0);
  past.tried(zero(2, 4), 20, 99.0);
  return past;
}

}  // namespace

TEST_CASE("rungs: three times as many steps each time, a third of the experiments", "[search]") {
  MeasureSpec measure;
  measure.min_steps = 8;
  measure.max_steps = 40;
  CHECK(rung_steps(measure) == std::vector<int>{8, 24, 40});
  measure.max_steps = 8;
  CHECK(rung_steps(measure) == std::vector<int>{8});
  measure.max_steps = 72;
  CHECK(rung_steps(measure) == std::vector<int>{8, 24, 72});
  CHECK(rung_widths(27, 3) == std::vector<std::int64_t>{27, 9, 3});
  CHECK(rung_widths(2, 3) == std::vector<std::int64_t>{2, 1, 1});
  CHECK(first_rung_within(39, 3) == 27);
  CHECK(first_rung_within(38, 3) == 26);
  CHECK(first_rung_within(2, 3) == 0);
}

TEST_CASE("knobs: the first rung has single changes of the leading ZeRO stages, few steps",
          "[search]") {
  Past past = led();
  const auto proposals = proposed(past, 0, 200);
  REQUIRE(proposals.size() > 20);
  bool second_stage = false;
  for (const Proposal& proposal : proposals) {
    CHECK(proposal.purpose == Purpose::knobs);
    CHECK(proposal.steps == 4);
    const auto stage = proposal.configuration.integer(zero_stage_parameter);
    CHECK((stage == 1 || stage == 2));
    second_stage = second_stage || stage == 2;
    CHECK(knobs_in(proposal.configuration) > 0);
  }
  CHECK(second_stage);
  CHECK(proposes(proposals, with(zero(1, 4), bucket, std::int64_t{200'000'000})));
  CHECK(proposes(proposals, with(zero(2, 4), zo + "overlap_comm", true)));
  // What eases memory is tried where memory is short, too.
  CHECK(proposes(proposals, with(zero(1, 4), device, std::string("cpu"))));
  CHECK(proposes(proposals, with(zero(1, 8), device, std::string("cpu"))));
  CHECK(proposes(proposals, with(zero(1, 16), device, std::string("cpu"))));
}

TEST_CASE("knobs: every knob has its turn before any has a second, and a quarter are combinations",
          "[search]") {
  Past past = led();
  const auto proposals = proposed(past, 0, 12);
  REQUIRE(proposals.size() == 12);
  std::size_t combinations = 0;
  for (const Proposal& proposal : proposals) {
    combinations += knobs_in(proposal.configuration) > 1 ? 1U : 0U;
  }
  CHECK(combinations >= 2);  // a combination may come out as a single change, too
  CHECK(combinations <= 3);
  CHECK(proposes(proposals, with(zero(1, 4), bucket, std::int64_t{50'000'000})));
  CHECK_FALSE(proposes(proposals, with(zero(1, 4), bucket, std::int64_t{200'000'000})));
  CHECK(proposals == proposed(past, 0, 12));  // equal seeds, equal proposals
}

TEST_CASE("knobs: later rungs take the gains together, and only what may still be the best",
          "[search]") {
  const Configuration small = with(zero(1, 4), bucket, std::int64_t{50'000'000});
  const Configuration middle = with(zero(1, 4), bucket, std::int64_t{200'000'000});
  const Configuration threads = with(zero(1, 4), "env:OMP_NUM_THREADS", std::int64_t{1});
  const Configuration bad = with(zero(1, 4), zo + "reduce_scatter", false);
  Past past = led();
  past.tried(small, 4, 103.0).tried(middle, 4, 110.0).tried(threads, 4, 106.0).tried(bad, 4, 70.0);
  const auto proposals = proposed(past, 1, 10);
  CHECK(proposes(proposals, with(middle, "env:OMP_NUM_THREADS", std::int64_t{1})));
  CHECK(proposes(proposals, middle));
  CHECK(proposes(proposals, threads));
  CHECK_FALSE(proposes(proposals, bad));
  CHECK(proposals.front().configuration == with(middle, "env:OMP_NUM_THREADS", std::int64_t{1}));
  for (const Proposal& proposal : proposals) CHECK(proposal.steps == 12);

  // What was measured for as many steps is not measured again.
  past.tried(middle, 12, 111.0);
  CHECK_FALSE(proposes(proposed(past, 1, 10), middle));
  CHECK(proposes(proposed(past, 2, 10), middle));
}

TEST_CASE("knobs: a fast study has none, nor one of which the cap or the patience is used up",
          "[search]") {
  StudyInput input = not_fast();
  input.spec.deepspeed->fast = true;
  Past fast = led(input);
  CHECK(proposed(fast, 0, 10).empty());

  input = not_fast();
  input.spec.search.knob_experiments = 5;
  Past capped = led(input);  // its three were asked for by the stage, as a test has it
  CHECK(proposed(capped, 0, 10).size() == 2);
  capped.tried(with(zero(1, 4), bucket, std::int64_t{50'000'000}), 4, 90.0);
  capped.tried(with(zero(1, 4), bucket, std::int64_t{200'000'000}), 4, 90.0);
  CHECK(proposed(capped, 1, 10).empty());

  input = not_fast();
  input.spec.search.knob_patience = 3;
  Past impatient = led(input);  // one since the best
  CHECK(proposed(impatient, 0, 10).size() == 2);
  impatient.tried(with(zero(1, 4), bucket, std::int64_t{50'000'000}), 4, 90.0);
  impatient.tried(with(zero(1, 4), bucket, std::int64_t{200'000'000}), 4, 90.0);
  CHECK(proposed(impatient, 1, 10).empty());
  impatient.tried(with(zero(1, 4), bucket, std::int64_t{1'000'000'000}), 4, 120.0);
  CHECK_FALSE(proposed(impatient, 1, 10).empty());
}

TEST_CASE("knobs: where nothing fits, memory is eased step by step, the highest stage first",
          "[search]") {
  Past past(not_fast());
  for (std::int64_t stage = 0; stage < 4; ++stage) past.ended(zero(stage, 1), Outcome::gpu_oom);
  const auto proposals = proposed(past, 0, 10);
  REQUIRE(proposals.size() >= 2);
  const Configuration first = with(zero(3, 1), device, std::string("cpu"));
  CHECK(proposals[0].configuration == first);
  CHECK(proposals[1].configuration == with(first, zo + "offload_param.device", std::string("cpu")));
  CHECK(proposals[0].steps == 20);
  CHECK(proposes(proposals, with(zero(2, 1), device, std::string("cpu"))));

  // One works: larger micro-batches with it, and what is near it.
  past.tried(first, 20, 10.0);
  const auto next = proposed(past, 1, 30);
  CHECK(proposes(next, with(zero(3, 2), device, std::string("cpu"))));
  CHECK(proposes(next, with(first, zo + "offload_optimizer.pin_memory", true)));
}

TEST_CASE("knobs: what failed for other reasons than memory is not rescued", "[search]") {
  Past past(not_fast());
  for (std::int64_t stage = 0; stage < 4; ++stage) {
    past.ended(zero(stage, 1), Outcome::crashed, 2);
  }
  CHECK(proposed(past, 0, 10).empty());
}

TEST_CASE("knobs: trials with knobs say nothing of a ZeRO stage's micro-batches", "[search]") {
  Past past(not_fast());
  past.ran({zero(1, 1), zero(1, 4)});
  past.tried(with(zero(1, 8), device, std::string("cpu")), 20, 100.0);
  past.tried(with(zero(1, 2), zo + "reduce_scatter", false), 20, 0.0);
  const StageFacts facts = past.facts(1);
  CHECK(facts.fits == 4);
  CHECK_FALSE(facts.fails);
  CHECK(facts.step_points.size() == 2);
}

TEST_CASE("estimates: of runs of one configuration the longest counts", "[search]") {
  Past past(not_fast());
  past.tried(zero(1, 4), 4, 120.0).tried(zero(1, 4), 12, 100.0).tried(zero(1, 2), 4, 90.0);
  past.tried(zero(2, 4), 12, 0.0).tried(zero(2, 4), 4, 200.0);
  const auto estimates = estimate_all(past.context().history, past.context().objective, {});
  REQUIRE(estimates.size() == 2);  // the longest run of ZeRO 2 failed
  CHECK(estimates[0].configuration == zero(1, 4));
  CHECK(estimates[0].score.mid == Approx(100.0));
  CHECK(estimates[0].trial->experiment.max_steps == 12);
  CHECK(past.context().history.of(configuration_id(zero(1, 4)))->experiment.max_steps == 12);
}

TEST_CASE("halving: the baseline and drawn configurations, then the best for more steps",
          "[search]") {
  StudyInput input = generic_input();
  input.spec.measure.min_steps = 4;
  input.spec.measure.max_steps = 36;
  Past past(input);
  const auto first = propose_halving(past.context(), 0, 7);
  REQUIRE(first.size() == 7);
  CHECK(first[0].purpose == Purpose::baseline);
  CHECK(first[0].steps == 36);
  for (std::size_t i = 1; i < first.size(); ++i) {
    CHECK(first[i].purpose == Purpose::halving);
    CHECK(first[i].steps == 4);
    CHECK(first[i].configuration != first[0].configuration);
  }
}
