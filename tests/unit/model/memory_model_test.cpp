// SPDX-License-Identifier: MIT
#include "slurmtune/model/memory_model.hpp"

#include <array>

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

/// A row of table 1 of the ZeRO paper: parameters and data-parallel degree -> GB a GPU.
struct Row {
  double params;
  std::int64_t dp;
  std::array<double, 4> gb;  ///< baseline, stages 1 to 3
};

TrainingSetup mixed_adam_setup() {
  TrainingSetup setup;
  setup.precision = Precision::fp16;
  return setup;
}
const TrainingSetup mixed_adam = mixed_adam_setup();

History history_of(std::vector<Verdict> verdicts, std::vector<Experiment> experiments) {
  History history;
  history.add(manifest_of("01-profile", std::move(experiments)), verdicts);
  return history;
}

}  // namespace

TEST_CASE("memory model: model states are those of the ZeRO paper, table 1", "[model]") {
  // Rajbhandari et al., SC20, table 1: K = 12, mixed precision Adam; GB of 1e9 bytes.
  constexpr std::array rows{
      Row{7.5e9, 1, {120, 120, 120, 120}},          Row{7.5e9, 4, {120, 52.5, 41.25, 30}},
      Row{7.5e9, 16, {120, 35.62, 21.56, 7.5}},     Row{7.5e9, 64, {120, 31.41, 16.64, 1.875}},
      Row{7.5e9, 1024, {120, 30.09, 15.1, 0.1172}}, Row{128e9, 4, {2048, 896, 704, 512}},
      Row{128e9, 16, {2048, 608, 368, 128}},        Row{128e9, 256, {2048, 518, 263, 8}},
      Row{1e12, 64, {16000, 4188, 2219, 250}},      Row{1e12, 1024, {16000, 4012, 2014, 15.62}}};
  for (const Row& row : rows) {
    for (int stage = 0; stage < 4; ++stage) {
      CAPTURE(row.params, row.dp, stage);
      // The table is rounded to four digits.
      CHECK(model_state_bytes(row.params, stage, row.dp, mixed_adam) / 1e9 ==
            Approx(row.gb.at(static_cast<std::size_t>(stage))).epsilon(5e-4));
    }
  }
}

TEST_CASE("memory model: 32-bit Adam keeps 4+4+8 bytes a parameter", "[model]") {
  const TrainingSetup full;
  CHECK(model_state_bytes(1e9, 0, 8, full) == Approx(16e9));
  CHECK(model_state_bytes(1e9, 1, 8, full) == Approx(4e9 + 4e9 + 1e9));
  CHECK(model_state_bytes(1e9, 2, 8, full) == Approx(4e9 + 0.5e9 + 1e9));
  CHECK(model_state_bytes(1e9, 3, 8, full) == Approx(2e9));
}

TEST_CASE("memory model: what is offloaded takes no GPU memory", "[model]") {
  TrainingSetup setup = mixed_adam;
  setup.optimizer_states = Placement::cpu;
  CHECK(model_state_bytes(1e9, 0, 4, setup) == Approx(4e9));
  CHECK(model_state_bytes(1e9, 2, 4, setup) == Approx(2e9));
  setup.parameters = Placement::nvme;
  CHECK(model_state_bytes(1e9, 2, 4, setup) == Approx(2e9));  // stage 3 only
  CHECK(model_state_bytes(1e9, 3, 4, setup) == Approx(0.0));
}

TEST_CASE("training_setup: precision, optimizer and offload are read from the ds_config",
          "[model]") {
  DeepSpeedSpec spec;
  const auto of = [&](const char* json) {
    spec.config_json = json;
    return training_setup(spec);
  };
  CHECK(of("{}") == TrainingSetup{});
  CHECK(of(R"({"bf16":{"enabled":true}})").precision == Precision::bf16);
  CHECK(of(R"({"fp16":{"enabled":"auto"}})").precision == Precision::fp16);
  CHECK(of(R"({"fp16":{"enabled":false}})").precision == Precision::fp32);
  CHECK(of(R"({"optimizer":{"type":"AdamW"}})").optimizer == OptimizerKind::adam);
  CHECK(of(R"({"optimizer":{"type":"SGD"}})").optimizer == OptimizerKind::plain);
  CHECK(of(R"({"optimizer":{"type":"SGD","params":{"momentum":0.9}}})").optimizer ==
        OptimizerKind::momentum);
  const TrainingSetup offloaded =
      of(R"({"zero_optimization":{"offload_optimizer":{"device":"cpu"},)"
         R"("offload_param":{"device":"none"}}})");
  CHECK(offloaded.optimizer_states == Placement::cpu);
  CHECK(offloaded.parameters == Placement::gpu);
}

TEST_CASE("training_setup: buckets, gradient type and activation checkpointing of the ds_config",
          "[model]") {
  DeepSpeedSpec spec;
  spec.config_json = R"({"data_types":{"grad_accum_dtype":"fp32"},"zero_optimization":{)"
                     R"("reduce_bucket_size":5e7,"overlap_comm":true,"sub_group_size":1e8,)"
                     R"("stage3_max_live_parameters":"auto"},)"
                     R"("activation_checkpointing":{"cpu_checkpointing":true}})";
  const TrainingSetup setup = training_setup(spec);
  CHECK(setup.gradients == GradientType::fp32);
  CHECK(setup.buckets.reduce == 5e7);
  CHECK(setup.buckets.sub_group == 1e8);
  CHECK(setup.buckets.max_live == 1e9);
  CHECK(setup.buckets.overlap_comm == true);
  CHECK(setup.checkpoints == Placement::cpu);
  CHECK(setup.checkpointing == Checkpointing::none);  // that, the trainer decides
}

TEST_CASE("training_setup: flags of Hugging Face's Trainer, and its auto buckets", "[model]") {
  StudyInput input = deepspeed_input();
  input.spec.deepspeed->config_json =
      R"({"bf16":{"enabled":"auto"},"zero_optimization":{"reduce_bucket_size":"auto",)"
      R"("stage3_prefetch_bucket_size":"auto"}})";
  input.spec.trial.command = {
      "python3", "run_clm.py", "--bf16",   "--gradient_checkpointing=True", "--attn_implementation",
      "eager",   "--optim",    "adafactor"};
  input.spec.model.hidden = 1000;
  const TrainingSetup setup = training_setup(input.spec);
  CHECK(setup.precision == Precision::bf16);
  CHECK(setup.checkpointing == Checkpointing::full);
  CHECK(setup.attention == Attention::materialised);
  CHECK(setup.optimizer == OptimizerKind::adafactor);
  CHECK(setup.buckets.reduce == 1e6);
  CHECK(setup.buckets.prefetch == Approx(9e5));
  input.spec.trial.command = {"python3", "run_clm.py", "--gradient_checkpointing", "False"};
  CHECK(training_setup(input.spec).checkpointing == Checkpointing::none);
}

TEST_CASE("cannot_fit: a known shape rules out what the activations alone exceed", "[model]") {
  StudyInput input = deepspeed_input();
  input.spec.model.params = 4e8;
  input.spec.model.hidden = 1024;
  input.spec.model.layers = 24;
  input.spec.model.vocabulary = 50257;
  input.spec.model.sequence_length = 1024;
  CHECK(cannot_fit(input.spec, input.site, History{}, 3).empty());
  input.spec.model.sequence_length = 65536;
  const std::string why = cannot_fit(input.spec, input.site, History{}, 3);
  CHECK(why.find("micro_batch 1 is predicted to need") == 0);
  CHECK(why.find("of 16.0 GiB: model states") != std::string::npos);
}

TEST_CASE("memory_line: without a shape one peak is joined to the model states", "[model]") {
  StudyInput input = deepspeed_input();
  const History nothing;
  const std::array one{Point{2, 8.0 * gib}};
  CHECK_FALSE(memory_line(input, nothing, 1, one, 1, 8));
  input.spec.model.params = 1e9;
  CHECK_FALSE(memory_line(input, nothing, 1, {}, 1, 8));
  const auto line = memory_line(input, nothing, 1, one, 1, 8);
  REQUIRE(line);
  CHECK(line->at(2) == Approx(8.0 * gib));
  CHECK(line->intercept == Approx(7e9));  // 2 + 2 + 12 / 4 bytes
  input.spec.model.hidden = 2048;
  input.spec.model.layers = 16;
  input.spec.model.sequence_length = 512;
  const auto prior = memory_line(input, nothing, 1, {}, 1, 8);
  REQUIRE(prior);
  CHECK(prior->slope > 0.0);
  const auto moved = memory_line(input, nothing, 1, one, 1, 8);
  REQUIRE(moved);
  CHECK(moved->at(2) == Approx(8.0 * gib));
  CHECK(moved->slope == prior->slope);
}

TEST_CASE("cannot_fit: speaks only when parameters and capacity are known, with figures",
          "[model]") {
  StudyInput input = deepspeed_input();
  const History nothing;
  CHECK(cannot_fit(input.spec, input.site, nothing, 0).empty());
  input.spec.model.params = 1.5e9;
  const std::string why = cannot_fit(input.spec, input.site, nothing, 0);
  CHECK(why ==
        "model states need 22.4 GiB of 16.0 GiB (1.5e+09 parameters, 2+2+12 bytes each, 4 "
        "ranks)");
  CHECK(cannot_fit(input.spec, input.site, nothing, 1).empty());  // 1.5e9 * (4 + 3) = 9.8 GiB
  input.site.gpu_bytes.reset();
  CHECK(cannot_fit(input.spec, input.site, nothing, 0).empty());
}

TEST_CASE("gpu_capacity: the smallest that verdicts report wins over the site's", "[model]") {
  const StudyInput input = deepspeed_input();
  const Experiment a = experiment_of(zero(0, 1));
  const Experiment b = experiment_of(zero(0, 2));
  Verdict first = ok(a, 10.0);
  Verdict second = ok(b, 10.0);
  CHECK(gpu_capacity(input.site, history_of({first, second}, {a, b})) == 16.0 * gib);
  first.hardware.gpu_bytes = 40.0 * gib;
  second.hardware.gpu_bytes = 24.0 * gib;
  CHECK(gpu_capacity(input.site, history_of({first, second}, {a, b})) == 24.0 * gib);
  CHECK(gpu_capacity(input.site, history_of({second, first}, {a, b})) == 24.0 * gib);
}

TEST_CASE("fit_probability: sure far from the capacity, in doubt near it", "[model]") {
  const auto fit = fit_affine(std::array{Point{1, 3.0 * gib}, Point{4, 9.0 * gib}});
  REQUIRE(fit);
  CHECK(fit_probability(*fit, 4, 16.0 * gib) > 0.999);
  CHECK(fit_probability(*fit, 7, 16.0 * gib) > 0.3);  // 15 GiB and what no peak shows
  CHECK(fit_probability(*fit, 7, 16.0 * gib) < 0.95);
  CHECK(fit_probability(*fit, 10, 16.0 * gib) < 0.001);
}
