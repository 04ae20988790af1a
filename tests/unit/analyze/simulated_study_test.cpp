// SPDX-License-Identifier: MIT
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/unit/analyze/study_run.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

/// Micro-batches 1 to `last`.
std::vector<std::int64_t> up_to(std::int64_t last) {
  std::vector<std::int64_t> micro_batches;
  for (std::int64_t micro_batch = 1; micro_batch <= last; ++micro_batch) {
    micro_batches.push_back(micro_batch);
  }
  return micro_batches;
}

/// A machine, as a change of the usual one, and the batch that is tuned on it.
struct Surface {
  std::string name;
  std::function<void(Machine&)> change;
  std::optional<std::int64_t> global;  ///< absent = micro-batches 1 to 24, accumulation 2
};

std::vector<Surface> surfaces() {
  return {
      {"stage 1 wins at 6", [](Machine&) {}, {}},
      {"constant global batch", [](Machine&) {}, 480},
      {"everything fits", [](Machine& m) { m.gpu_bytes = 80.0 * gib; }, {}},
      {"memory is not told", [](Machine& m) { m.tells_memory = false; }, {}},
      {"micro-batch hardly matters",
       [](Machine& m) {
         for (auto& [stage, cost] : m.stages) cost.fixed_s = 0.0005;
       },
       {}},
      {"only stage 3 fits",
       [](Machine& m) {
         m.stages[0].static_bytes = m.stages[1].static_bytes = 30.0 * gib;
         m.stages[2].static_bytes = 15.9 * gib;
       },
       {}},
      {"stage 3 wins by its larger micro-batch",
       [](Machine& m) {
         m.stages[0].static_bytes = m.stages[1].static_bytes = 14.0 * gib;
         m.stages[2].static_bytes = 12.0 * gib;
         for (auto& [stage, cost] : m.stages) cost.fixed_s = 0.1;
       },
       {}},
      {"noisy", [](Machine& m) { m.noise = 0.02; }, {}},
      {"a tenth of the memory is taken by what no peak shows",
       [](Machine& m) { m.hidden_bytes = 1.6 * gib; },
       {}},
  };
}

StudyInput input_of(const Surface& surface) {
  StudyInput input = deepspeed_input(surface.global ? std::vector<std::int64_t>() : up_to(24));
  input.spec.batch.global = surface.global;
  if (surface.global) input.spec.deepspeed->gradient_accumulation = *surface.global / 4;
  return input;
}

/// A machine on which everything ends as `outcome`.
Machine doomed(Outcome outcome, const std::string& line) {
  Machine machine = usual_machine();
  machine.whim = [=](const Experiment& experiment) -> std::optional<Verdict> {
    return failed(experiment, outcome, line);
  };
  return machine;
}

}  // namespace

TEST_CASE("a study finds a winner within 5 % of the exhaustive best with less than half the grid",
          "[analyze]") {
  for (const Surface& surface : surfaces()) {
    Machine machine = usual_machine();
    surface.change(machine);
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
      const StudyInput input = input_of(surface);
      const StudyRun run = run_study(input, machine, {.seed = seed});
      const Exhaustive truth = exhaustive(input, machine);
      INFO(surface.name << ", seed " << seed << "\n" << run.outline());
      REQUIRE(run.result().best);
      const Configuration winner{run.result().best->values};
      CHECK(machine.true_throughput(winner) >= 0.95 * truth.throughput);
      // Repeats of confirm count as experiments, too.
      CHECK(run.experiments().size() < truth.configurations / 2);
      CHECK(run.result().stop == Stop::gain);
      CHECK(run.result().best->repeats >= 3);
      CHECK(run.result().probability_best > 0.3);
    }
  }
}

TEST_CASE("a study in which everything runs out of memory says so, and names no best",
          "[analyze]") {
  const StudyRun run =
      run_study(deepspeed_input(), doomed(Outcome::gpu_oom, "CUDA out of memory. Tried 2 GiB"));
  const TuningResult& result = run.result();
  CHECK_FALSE(result.best);
  CHECK_FALSE(result.baseline);
  CHECK_FALSE(result.speedup);
  CHECK(result.ranking.empty());
  CHECK(result.stop == Stop::nothing_worked);
  CHECK(result.baseline_outcome == Outcome::gpu_oom);
  CHECK(result.why ==
        "no experiment could be ranked (8 gpu_oom); fast = false would try offload and "
        "activation checkpointing; z0_gas2_tmbspg1: CUDA out of memory. Tried 2 "
        "GiB");
  CHECK(run.history.size() == 1);
  CHECK(result.failures.size() == 8);
  CHECK(run.last().dropped.size() == 4);
}

TEST_CASE("a study in which everything crashes tries once more, then says how it ended",
          "[analyze]") {
  const StudyRun run = run_study(deepspeed_input(), doomed(Outcome::crashed, "Segmentation fault"));
  const TuningResult& result = run.result();
  CHECK_FALSE(result.best);
  CHECK(result.stop == Stop::nothing_worked);
  CHECK(result.experiments_run == 16);
  CHECK(result.why.find("8 crashed") != std::string::npos);
  CHECK(result.why.find("Segmentation fault") != std::string::npos);
  for (const Failure& failure : result.failures) CHECK(failure.outcome == Outcome::crashed);
}

TEST_CASE("a refused configuration stops the study only if it is the baseline's or all",
          "[analyze]") {
  const auto refused = [](auto is_refused) {
    Machine machine = usual_machine();
    machine.whim = [=](const Experiment& experiment) -> std::optional<Verdict> {
      if (!is_refused(experiment)) return std::nullopt;
      return failed(experiment, Outcome::config_error, "ValueError: bad bucket");
    };
    return run_study(deepspeed_input(), machine);
  };
  const auto baseline = refused([](const Experiment& e) { return e.configuration == zero(0, 1); });
  CHECK(baseline.result().stop == Stop::baseline_config_error);
  CHECK(baseline.history.size() == 1);
  CHECK(baseline.result().why.find("refused") != std::string::npos);

  const auto all = refused([](const Experiment&) { return true; });
  CHECK(all.result().stop == Stop::baseline_config_error);
  CHECK_FALSE(all.result().best);
  CHECK(all.result().why.find("ValueError: bad bucket") != std::string::npos);

  const auto one = refused(
      [](const Experiment& e) { return e.configuration.integer(zero_stage_parameter) == 2; });
  CHECK(one.result().stop == Stop::gain);
  CHECK(one.result().best);
  bool is_said = false;
  for (const Dropped& dropped : one.last().dropped) {
    is_said = is_said || dropped.what == "zero_stage=2";
  }
  CHECK(is_said);
}

TEST_CASE("a launch error on every try counts as a refused configuration", "[analyze]") {
  const StudyRun run =
      run_study(deepspeed_input(), doomed(Outcome::launch_error, "exec: train: not found"));
  CHECK(run.result().stop == Stop::baseline_config_error);
  CHECK(run.result().experiments_run == 24);
  CHECK(run.result().why.find("exec: train: not found") != std::string::npos);
}

TEST_CASE("a full disk stops the study at once", "[analyze]") {
  Machine machine = usual_machine();
  machine.whim = [](const Experiment& experiment) -> std::optional<Verdict> {
    if (experiment.configuration != zero(1, 4)) return std::nullopt;
    return failed(experiment, Outcome::storage_error, "No space left on device");
  };
  const StudyRun run = run_study(deepspeed_input(), machine);
  CHECK(run.result().stop == Stop::storage_error);
  CHECK(run.history.size() == 1);
}

TEST_CASE("a baseline that does not fit is a valid baseline", "[analyze]") {
  Machine machine = usual_machine();
  machine.stages[0].static_bytes = 20.0 * gib;
  const StudyRun run = run_study(deepspeed_input(), machine);
  const TuningResult& result = run.result();
  REQUIRE(result.best);
  CHECK(result.stop == Stop::gain);
  CHECK(result.baseline_outcome == Outcome::gpu_oom);
  CHECK_FALSE(result.baseline);
  CHECK_FALSE(result.speedup);
  CHECK(result.why.find("the baseline does not run (gpu_oom)") != std::string::npos);
  REQUIRE(run.last().baseline);
  CHECK(run.last().baseline->outcome == Outcome::gpu_oom);
}

TEST_CASE("where the baseline is the best, the result says so", "[analyze]") {
  StudyInput input = deepspeed_input();
  input.spec.deepspeed->zero_stage = 1;
  input.spec.deepspeed->micro_batch = 6;
  const StudyRun run = run_study(input, usual_machine());
  const TuningResult& result = run.result();
  INFO(run.outline());
  REQUIRE(result.best);
  CHECK(result.best->values == zero(1, 6).values);
  CHECK(result.speedup == Interval{1.0, 1.0, 1.0});
  CHECK(result.why.find("the baseline z1_gas2_tmbspg6 is the fastest") == 0);
}

TEST_CASE("a lone lucky reading does not win", "[analyze]") {
  Machine machine = usual_machine();
  machine.whim = [&machine](const Experiment& experiment) -> std::optional<Verdict> {
    // Once, a mediocre configuration seems to be 40 % faster than anything else.
    if (experiment.configuration != zero(2, 4) || experiment.repeat > 0) return std::nullopt;
    Verdict verdict = ok(experiment, 420.0);
    verdict.metrics.step_s = about(machine.step_s(experiment.configuration));
    verdict.metrics.peak_gpu_bytes = machine.peak(experiment.configuration);
    return verdict;
  };
  const StudyInput input = deepspeed_input();
  const StudyRun run = run_study(input, machine);
  INFO(run.outline());
  REQUIRE(run.result().best);
  CHECK(run.result().best->throughput.mid < 330.0);
  const Configuration winner{run.result().best->values};
  CHECK(machine.true_throughput(winner) > 0.9 * exhaustive(input, machine).throughput);
}

TEST_CASE("interrupted and lost experiments are run again and nothing is measured twice",
          "[analyze]") {
  Machine machine = usual_machine();
  machine.whim = [](const Experiment& experiment) -> std::optional<Verdict> {
    // The first try of every second experiment is preempted.
    const bool unlucky = experiment.id.text[0] % 2 == 0 && experiment.attempt == 0;
    if (!unlucky) return std::nullopt;
    return failed(experiment, Outcome::preempted);
  };
  const StudyInput input = deepspeed_input();
  const StudyRun run = run_study(input, machine);  // checks that no manifest has a measured one
  INFO(run.outline());
  REQUIRE(run.result().best);
  CHECK(run.result().stop == Stop::gain);
  const Configuration winner{run.result().best->values};
  CHECK(machine.true_throughput(winner) >= 0.95 * exhaustive(input, machine).throughput);
}

TEST_CASE("the budget is never exceeded, and the confirmation is paid for", "[analyze]") {
  int planned = 0;
  for (const double node_hours : {2.5, 3.0, 3.5, 4.0, 5.0, 8.0}) {
    StudyInput input = deepspeed_input(up_to(24));
    input.spec.budget.max_node_hours = node_hours;
    const auto plan = make_plan(input, {.study = {"study"}, .inputs = "sha256:0"});
    CAPTURE(node_hours);
    if (!plan) continue;  // the planner's own question
    ++planned;
    Machine machine = usual_machine();
    machine.tells_memory = false;
    const StudyRun run = run_study(input, machine);  // tasks are charged their limits
    INFO(run.outline());
    CHECK(run.spent_node_seconds <= static_cast<std::int64_t>(node_hours * 3600.0));
    REQUIRE(run.result().best);
    CHECK(run.result().best->repeats >= 1);
    CHECK(run.result().why.find("not confirmed") == std::string::npos);
  }
  CHECK(planned >= 3);
}

TEST_CASE("max_experiments is never exceeded", "[analyze]") {
  StudyInput input = deepspeed_input(up_to(24));
  input.spec.budget.max_experiments = 32;
  Machine machine = usual_machine();
  machine.tells_memory = false;
  const StudyRun run = run_study(input, machine);
  CHECK(run.experiments().size() <= 32);
  CHECK(run.result().best);
}

TEST_CASE("a grid of a generic study is exhausted and confirmed", "[analyze]") {
  const StudyInput input = generic_input();
  Machine machine;
  Random chance(Seed{5});
  machine.whim = [&chance](const Experiment& experiment) -> std::optional<Verdict> {
    const auto x = static_cast<double>(*experiment.configuration.integer("x"));
    const auto y = static_cast<double>(*experiment.configuration.integer("y"));
    const double throughput = 10.0 + 10.0 * x - 3.0 * (y - 2.0) * (y - 2.0);
    return ok(experiment, throughput * std::exp(0.005 * draw_normal(chance)));
  };
  const StudyRun run = run_study(input, machine);
  INFO(run.outline());
  REQUIRE(run.result().best);
  CHECK(run.result().best->label == "x-4_y-2");
  CHECK(run.result().stop == Stop::exhausted);
  CHECK(run.result().ranking.size() == 9);
  REQUIRE(run.result().speedup);
  CHECK(run.result().speedup->mid == Approx(50.0 / 17.0).epsilon(0.05));
  CHECK(run.last().best->probability_best > 0.95);
}

TEST_CASE("ties end in the same winner whatever came first", "[analyze]") {
  const StudyInput input = generic_input();
  Machine machine;
  machine.whim = [](const Experiment& experiment) -> std::optional<Verdict> {
    return ok(experiment, 100.0);
  };
  const StudyRun run = run_study(input, machine);
  REQUIRE(run.result().best);
  CHECK(run.result().best->label == "x-1_y-1");  // the baseline: nothing to change
  CHECK(run.result().why.find("the baseline") == 0);
}

TEST_CASE("a study of the same seed makes the same decisions, byte for byte", "[analyze]") {
  const StudyInput input = deepspeed_input();
  const StudyRun first = run_study(input, usual_machine());
  const StudyRun second = run_study(input, usual_machine());
  REQUIRE(first.decisions.size() == second.decisions.size());
  for (std::size_t i = 0; i < first.decisions.size(); ++i) {
    CHECK(render_decision(first.decisions[i]) == render_decision(second.decisions[i]));
  }
}
