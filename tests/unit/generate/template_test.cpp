// SPDX-License-Identifier: MIT
#include <set>

#include "slurmtune/generate/label.hpp"
#include "slurmtune/generate/task_time.hpp"
#include "slurmtune/generate/templates.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

TEST_CASE("S-03: prune_configs drops doubles, what was asked for, and what the space refuses",
          "[generate]") {
  const StudyInput input = deepspeed_input({1, 2, 4});
  const auto space = make_space(input.spec);
  const auto objective = Objective::compile(input);
  REQUIRE(space);
  REQUIRE(objective);
  History history;
  history.add(manifest_of("01-profile", {experiment_of(zero(1, 2))}), std::vector<Verdict>{});
  const SearchContext context{input, *space, history, *objective};
  const auto proposal = [](const Configuration& configuration, int repeat = 0) {
    return Proposal{configuration, Purpose::profile, repeat, {}, std::nullopt};
  };
  const auto kept = prune_configs(
      {proposal(zero(2, 4)), proposal(zero(2, 4)), proposal(zero(1, 2)), proposal(zero(1, 2), 1),
       proposal(zero(0, 1)), proposal(zero(0, 3)), proposal(zero(7, 1))},
      context);
  CHECK(kept ==
        std::vector<Proposal>{proposal(zero(2, 4)), proposal(zero(1, 2), 1), proposal(zero(0, 1))});
}

TEST_CASE("S-03: build_experiment makes ids, label, steps and limits, and nothing else",
          "[generate]") {
  MeasureSpec measure;
  measure.min_steps = 5;
  measure.max_steps = 30;
  measure.startup_s = 100.0;
  measure.stall_s = 20.0;
  Proposal proposal{zero(1, 4), Purpose::curve, 0, {}, std::nullopt};
  proposal.expected.step_s = 0.4;
  const Experiment experiment = build_experiment(proposal, measure);
  CHECK(experiment.configuration == zero(1, 4));
  CHECK(experiment.configuration_id == configuration_id(zero(1, 4)));
  CHECK(experiment.id == experiment_id(experiment.configuration_id, 30, 0));
  CHECK(experiment.label == "z1_gas2_tmbspg4");
  CHECK(experiment.purpose == Purpose::curve);
  CHECK(experiment.min_steps == 5);
  CHECK(experiment.max_steps == 30);
  CHECK(experiment.limits == trial_limits(measure));
  CHECK(experiment.expected.step_s == 0.4);
  CHECK(experiment.attempt == 0);
  const Experiment repeat =
      build_experiment({zero(1, 4), Purpose::confirm, 2, {}, std::nullopt}, measure);
  CHECK(repeat.label == "z1_gas2_tmbspg4_r2");
  CHECK(repeat.configuration_id == experiment.configuration_id);
  CHECK(repeat.id != experiment.id);
  proposal.steps = 4;
  const Experiment shorter = build_experiment(proposal, measure);
  CHECK(shorter.id == experiment_id(experiment.configuration_id, 4, 0));
  CHECK(shorter.max_steps == 4);
  CHECK(shorter.min_steps == 4);  // never more than are measured at most
}

TEST_CASE("prune_configs knows a configuration apart by the steps that it is measured for",
          "[generate]") {
  const StudyInput input = deepspeed_input({1, 2, 4});
  const auto space = make_space(input.spec);
  const auto objective = Objective::compile(input);
  REQUIRE(space);
  REQUIRE(objective);
  History history;
  const Experiment shorter = experiment_of(zero(1, 2), Purpose::knobs, 0, 8);
  history.add(manifest_of("01-knobs", {shorter}), std::vector<Verdict>{});
  const SearchContext context{input, *space, history, *objective};
  const Proposal again{zero(1, 2), Purpose::knobs, 0, {}, 8};
  const Proposal longer{zero(1, 2), Purpose::knobs, 0, {}, 20};
  CHECK(prune_configs({again, longer}, context) == std::vector<Proposal>{longer});
}

TEST_CASE("label: names and values, unique and fit for a file name", "[generate]") {
  CHECK(label_of(zero(3, 12, 1)) == "z3_gas1_tmbspg12");
  const Configuration generic{{{"threads", std::int64_t{8}}, {"ratio", 0.25}, {"fuse", true}}};
  CHECK(label_of(generic) == "fuse-true_ratio-0.25_threads-8");
  const Configuration mixed{{{"zero_stage", std::int64_t{1}}, {"bucket", std::int64_t{500}}}};
  CHECK(label_of(mixed) == "z1_bucket-500");

  std::set<std::string> labels;
  for (const std::string text : {"a/b", "a b", "a_b", "a-b", "../x", "a\nb", ""}) {
    const std::string label = label_of({{{"mode", text}}});
    CAPTURE(label);
    CHECK(labels.insert(label).second);
    CHECK(label.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                  "0123456789._+-") == std::string::npos);
    CHECK(label.size() <= 100);
  }
  Configuration many;
  for (int i = 0; i < 40; ++i) many.values["parameter" + std::to_string(i)] = std::int64_t{1};
  Configuration other = many;
  other.values["parameter9"] = std::int64_t{2};
  CHECK(label_of(many).size() <= 100);
  CHECK(label_of(many) != label_of(other));
}

TEST_CASE("label: knobs are abbreviated as DeepSpeed's autotuner does, in one fixed order",
          "[generate]") {
  const auto with = [](Configuration configuration, Values knobs) {
    configuration.values.merge(knobs);
    return configuration;
  };
  const auto label_without_hash = [](const Configuration& configuration) {
    const std::string label = label_of(configuration);
    const std::string hash = configuration_id(configuration).text.substr(0, 8);
    CHECK(label.ends_with("_" + hash));
    return label.substr(0, label.size() - 9);
  };
  const std::string zo = "zero_optimization.";
  const std::int64_t billion = 1'000'000'000;
  // DeepSpeed: z1_rbs1.0e+09_abs1.0e+09_tmbspg5_gas2. The words are the same; ZeRO stage and batch
  // come first, and then all by name, because the order of a template differs between versions.
  CHECK(label_without_hash(with(zero(1, 5, 2), {{zo + "reduce_bucket_size", billion},
                                                {zo + "allgather_bucket_size", billion}})) ==
        "z1_gas2_tmbspg5_abs1.0e+09_rbs1.0e+09");
  // DeepSpeed: z2_abs1.0e+09_ocF_rsF_rbs1.0e+09_cgF_tmbspg11_gas1. The same.
  const Values second{{zo + "allgather_bucket_size", billion},
                      {zo + "overlap_comm", false},
                      {zo + "reduce_scatter", false},
                      {zo + "reduce_bucket_size", billion},
                      {zo + "contiguous_gradients", false}};
  CHECK(label_without_hash(with(zero(2, 11, 1), second)) ==
        "z2_gas1_tmbspg11_abs1.0e+09_cgF_ocF_rbs1.0e+09_rsF");
  // DeepSpeed: z3_apF_abs1.0e+09_ocF_rsF_rbs1.0e+09_cgF_tmbspg11_gas1. The same.
  Values third = second;
  third.emplace(zo + "allgather_partitions", false);
  CHECK(label_without_hash(with(zero(3, 11, 1), third)) ==
        "z3_gas1_tmbspg11_abs1.0e+09_apF_cgF_ocF_rbs1.0e+09_rsF");
  // Published in 2021: z1_rbs5.0e+07_abs1.0e+09_gas1_tmbspg11, a third order of the same.
  CHECK(label_without_hash(
            with(zero(1, 11, 1), {{zo + "reduce_bucket_size", std::int64_t{50'000'000}},
                                  {zo + "allgather_bucket_size", billion}})) ==
        "z1_gas1_tmbspg11_abs1.0e+09_rbs5.0e+07");
  CHECK(label_without_hash(with(zero(3, 1, 1), {{zo + "offload_optimizer.device", "cpu"},
                                                {zo + "offload_param.pin_memory", true},
                                                {"env:NCCL_ALGO", "Ring"},
                                                {"env:OMP_NUM_THREADS", std::int64_t{8}},
                                                {"arg:--gradient_checkpointing", true}})) ==
        "z3_gas1_tmbspg1_gcT_NARing_ONT8_oo_dcpu_op_pmT");
}
