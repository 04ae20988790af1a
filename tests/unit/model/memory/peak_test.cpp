// SPDX-License-Identifier: MIT
#include "slurmtune/model/memory/peak.hpp"

#include <array>

#include "slurmtune/model/gpu_memory.hpp"
#include "slurmtune/model/memory/buffers.hpp"
#include "slurmtune/model/memory/estimate.hpp"
#include "slurmtune/model/memory/host.hpp"
#include "slurmtune/model/memory/model_states.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;

namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

/// Llama-2 7B on eight GPUs of a node, mixed precision.
MemoryQuestion llama(int zero_stage) {
  MemoryQuestion question;
  TransformerShape& shape = question.shape;
  shape.params = shape.trainable = 6738415616.0;
  shape.hidden = 4096;
  shape.layers = 32;
  shape.heads = shape.kv_heads = 32;
  shape.intermediate = 11008;
  shape.vocabulary = 32000;
  shape.sequence = 2048;
  shape.mlp = MlpKind::gated;
  question.setup.precision = Precision::bf16;
  question.layout.processes_per_node = 8;
  question.zero_stage = zero_stage;
  return question;
}

}  // namespace

TEST_CASE("optimizer states: bytes of each parameter by kind", "[model]") {
  CHECK(optimizer_state_bytes(OptimizerKind::adam, Precision::bf16) == 8.0);
  CHECK(optimizer_state_bytes(OptimizerKind::adam, Precision::bf16_only) == 4.0);
  CHECK(optimizer_state_bytes(OptimizerKind::momentum, Precision::fp32) == 4.0);
  CHECK(optimizer_state_bytes(OptimizerKind::plain, Precision::fp32) == 0.0);
  CHECK(optimizer_state_bytes(OptimizerKind::adam_8bit, Precision::fp16) == Approx(2.03125));
  CHECK(optimizer_state_bytes(OptimizerKind::onebit_adam, Precision::fp16) == 12.0);
  CHECK(optimizer_state_bytes(OptimizerKind::adafactor, Precision::bf16) < 0.1);
}

TEST_CASE("optimizer_named: names of DeepSpeed, Transformers and bitsandbytes", "[model]") {
  CHECK(optimizer_named("AdamW") == OptimizerKind::adam);
  CHECK(optimizer_named("DeepSpeedCPUAdam") == OptimizerKind::adam);
  CHECK(optimizer_named("adamw_bnb_8bit") == OptimizerKind::adam_8bit);
  CHECK(optimizer_named("paged_adamw_8bit") == OptimizerKind::adam_8bit);
  CHECK(optimizer_named("OneBitAdam") == OptimizerKind::onebit_adam);
  CHECK(optimizer_named("Lion") == OptimizerKind::momentum);
  CHECK(optimizer_named("SGD") == OptimizerKind::plain);
  CHECK_FALSE(optimizer_named("my_optimizer"));
}

TEST_CASE("precision: bf16 without ZeRO accumulates gradients in 32 bits", "[model]") {
  CHECK(parameter_bytes(Precision::bf16, GradientType::automatic, 0).gradients == 4.0);
  CHECK(parameter_bytes(Precision::bf16, GradientType::automatic, 0).transient == 2.0);
  CHECK(parameter_bytes(Precision::bf16, GradientType::automatic, 1).gradients == 2.0);
  CHECK(parameter_bytes(Precision::bf16, GradientType::fp32, 1).gradients == 4.0);
  CHECK(parameter_bytes(Precision::fp16, GradientType::automatic, 0).gradients == 2.0);
  CHECK(parameter_bytes(Precision::bf16_only, GradientType::automatic, 0).master == 0.0);
}

TEST_CASE("model states: frozen parameters have no gradients and no states", "[model]") {
  TrainingSetup setup;
  setup.precision = Precision::bf16;
  ParallelLayout layout;
  layout.processes_per_node = 4;
  const ModelStates lora = model_states(7e9, 4e6, 2, layout, setup);
  CHECK(lora.parameters == Approx(14e9));
  CHECK(lora.gradients == Approx(2e6));
  CHECK(lora.optimizer == Approx(12e6));
}

TEST_CASE("model states: tensor and pipeline divide the model, sequence ranks shard", "[model]") {
  TrainingSetup setup;
  setup.precision = Precision::fp16;
  ParallelLayout layout{4, 8, 2, 2, 4};  // 32 ranks: 8 shard a quarter, 2 of them data-parallel
  CHECK(layout.sharding_ranks() == 8);
  CHECK(layout.data_parallel() == 2);
  CHECK(model_states(8e9, 8e9, 3, layout, setup).total() == Approx(16.0 * 8e9 / 32.0));
  CHECK(model_states(8e9, 8e9, 0, layout, setup).total() == Approx(16.0 * 8e9 / 4.0));
}

TEST_CASE("buffers: overlap_comm doubles the bucket, a small model bounds it", "[model]") {
  TrainingSetup setup;
  setup.precision = Precision::fp16;
  ParallelLayout layout;
  layout.processes_per_node = 4;
  CHECK(reduce_bucket_bytes(7e9, 2, layout, setup) == Approx(1e9));
  CHECK(reduce_bucket_bytes(7e9, 3, layout, setup) == Approx(2e9));
  setup.buckets.overlap_comm = true;
  CHECK(reduce_bucket_bytes(7e9, 2, layout, setup) == Approx(2e9));
  CHECK(reduce_bucket_bytes(1e8, 2, layout, setup) == Approx(4e8));
  setup.buckets.reduce = 5e7;
  CHECK(reduce_bucket_bytes(7e9, 1, layout, setup) == Approx(2e8));
}

TEST_CASE("buffers: stage 3 gathers up to its limits, at least the largest layer", "[model]") {
  MemoryQuestion question = llama(3);
  const auto gathered = [&] {
    return gathered_bytes(question.shape, 3, question.layout, question.setup);
  };
  const double layer = question.shape.layer_params();
  const double output = 32000.0 * 4096.0;
  CHECK(layer == Approx(4.0 * 4096 * 4096 + 3.0 * 4096 * 11008));
  CHECK(gathered().loss == Approx(2.0 * 5e8));
  CHECK(gathered().backward == Approx(2.0 * 5e8 + 2.0 * layer));
  question.setup.buckets.max_reuse_distance = 0.0;
  CHECK(gathered().loss == Approx(2.0 * output));
  CHECK(gathered().backward == Approx(2.0 * (layer + 5e7) + 2.0 * layer));
  question.setup.buckets = fsdp_buckets(question.shape, question.layout, FsdpEmbeddings::units);
  CHECK(gathered().loss == Approx(2.0 * output));
  CHECK(gathered().backward == Approx(2.0 * 2.0 * layer + 2.0 * layer));
  // The root's parameters, both embeddings and the last norm, stay from forward to backward's end.
  const double root = question.shape.params - question.shape.layers * layer;
  CHECK(root > 2.0 * output);
  question.setup.buckets = fsdp_buckets(question.shape, question.layout, FsdpEmbeddings::root);
  CHECK(gathered().loss == Approx(2.0 * root));
  CHECK(gathered().backward == Approx(2.0 * (root + 2.0 * layer) + 2.0 * layer));
  CHECK(gathered_bytes(question.shape, 2, question.layout, question.setup).loss == 0.0);
  question.setup.buckets = ZeroBuckets{};
  question.setup.buckets.max_live = question.setup.buckets.max_reuse_distance = 1e10;
  CHECK(gathered().loss == Approx(2.0 * question.shape.params));
}

TEST_CASE("buffers: the step converts gradients, of a sub-group at stage 3", "[model]") {
  const MemoryQuestion question = llama(2);
  const auto step = [&](int stage) {
    return step_bytes(8e9, stage, question.layout, question.setup);
  };
  CHECK(step(1) == Approx(6e9));
  CHECK(step(2) == Approx(6e9));
  // The sub-group's gradients are flattened, then converted; the bucket is still there.
  CHECK(step(3) == Approx(6e9 + 2.0 * 5e8));
  TrainingSetup foreach_setup;
  foreach_setup.precision = Precision::bf16_only;
  foreach_setup.optimizer_step = OptimizerStep::foreach;
  CHECK(step_bytes(1e9, 0, {}, foreach_setup) == Approx(2e9));
}

TEST_CASE("peak_memory: sums up, and tells when memory is fullest", "[model]") {
  const MemoryBreakdown peak = peak_memory(llama(2), 4);
  CHECK(peak.total() ==
        Approx(peak.parameters + peak.gradients + peak.optimizer + peak.buffers + peak.gathered +
               peak.activations + peak.logits + peak.fragments + peak.overhead));
  CHECK(peak.phase == PeakPhase::loss);
  MemoryQuestion small = llama(2);
  small.shape.sequence = 16;
  CHECK(peak_memory(small, 1).phase == PeakPhase::step);
  MemoryQuestion narrow = llama(2);
  narrow.shape.vocabulary = 100;
  narrow.setup.checkpointing = Checkpointing::full;
  CHECK(peak_memory(narrow, 8).phase == PeakPhase::backward);
}

TEST_CASE("peak_memory: higher stages take less, a larger micro-batch more", "[model]") {
  double before = 1e30;
  for (int stage = 0; stage < 4; ++stage) {
    const double now = peak_memory(llama(stage), 1).total();
    CHECK(now < before);
    CHECK(peak_memory(llama(stage), 2).total() > now);
    before = now;
  }
}

TEST_CASE("largest_micro_batch: the last one below the capacity", "[model]") {
  const MemoryQuestion question = llama(3);
  const auto largest = largest_micro_batch(question, 80.0 * gib, 1024);
  REQUIRE(largest > 1);
  CHECK(peak_memory(question, static_cast<double>(largest)).total() <= 80.0 * gib);
  CHECK(peak_memory(question, static_cast<double>(largest + 1)).total() > 80.0 * gib);
  CHECK(largest_micro_batch(question, 80.0 * gib, 2) == 2);
  CHECK(largest_micro_batch(question, 1.0 * gib, 1024) == 0);
}

TEST_CASE("calibrated: the prior, one point, two points", "[model]") {
  const MemoryPrior prior{10.0 * gib, 2.0 * gib, 1.0};
  const auto alone = calibrated(prior, {}, 40.0 * gib);
  REQUIRE(alone);
  CHECK(alone->at(4) == Approx(16.0 * gib));
  CHECK(alone->residual == Approx(model_deviation * 40.0 * gib));
  const std::array one{Point{2, 15.0 * gib}};
  const auto moved = calibrated(prior, one, 40.0 * gib);
  REQUIRE(moved);
  CHECK(moved->at(2) == Approx(15.0 * gib));
  CHECK(moved->at(4) == Approx(19.0 * gib));
  CHECK(moved->residual == Approx(model_deviation * 25.0 * gib));
  const std::array two{Point{2, 15.0 * gib}, Point{4, 18.0 * gib}};
  const auto measured = calibrated(prior, two, 40.0 * gib);
  REQUIRE(measured);
  CHECK(measured->at(8) == Approx(24.0 * gib));
  CHECK(measured->residual == Approx(0.0).margin(1.0));
  CHECK_FALSE(calibrated(std::nullopt, one, 40.0 * gib));
}

TEST_CASE("calibrated: peaks of the optimizer's step say nothing of larger micro-batches",
          "[model]") {
  const MemoryPrior prior{10.0 * gib, 2.0 * gib, 1.0};
  // The step takes 16 GiB, whatever the micro-batch; from 4 on the model expects more.
  const std::array level{Point{1, 16.0 * gib}, Point{2, 16.1 * gib}};
  const auto beyond = calibrated(prior, level, 40.0 * gib);
  REQUIRE(beyond);
  CHECK(beyond->at(8) == Approx(24.0 * gib));
  CHECK(beyond->residual == Approx(model_deviation * 23.9 * gib));
  // Measured beyond that, and still level: the model is wrong, and the points stand.
  const std::array refuted{Point{1, 16.0 * gib}, Point{8, 16.5 * gib}};
  const auto measured = calibrated(prior, refuted, 40.0 * gib);
  REQUIRE(measured);
  CHECK(measured->at(15) == Approx(17.0 * gib));
  CHECK(calibrated(std::nullopt, level, 40.0 * gib)->at(12) == Approx(17.1 * gib));
}

TEST_CASE("host memory: what is offloaded, and what loading takes", "[model]") {
  const MemoryQuestion question = llama(2);
  TrainingSetup setup = question.setup;
  const double params = question.shape.params;
  const double loading = 8.0 * (2.0 * gib + 4.0 * params);
  CHECK(host_bytes_per_node(question.shape, 2, 1, question.layout, setup) == Approx(loading));
  setup.optimizer_states = setup.parameters = Placement::cpu;
  // DeepSpeed's 18 bytes with a factor of 1.5, its pinned buffers, and the processes.
  CHECK(host_bytes_per_node(question.shape, 3, 1, question.layout, setup) ==
        Approx(18.0 * 1.5 * params + 8.0 * (2.0 * gib + 1e9)));
}

TEST_CASE("estimate_rows: stages in order, then what is offloaded; the first that fits is advised",
          "[model]") {
  const MemoryQuestion question = llama(0);
  EstimateRequest request{
      question.shape, question.setup, question.layout, 40.0 * gib, {}, 1, 64, {}};
  const auto rows = estimate_rows(request);
  REQUIRE(rows.size() == 7);
  CHECK(rows[0].largest == 0);
  CHECK(rows[6].parameters == Placement::cpu);
  const EstimateRow* first = recommended(rows, 1);
  REQUIRE(first != nullptr);
  CHECK(first->zero_stage >= 2);
  CHECK(first->probability > 0.5);
  request.gpu_bytes = 1.0 * gib;
  CHECK(recommended(estimate_rows(request), 1) == nullptr);
  request.gpu_bytes = 40.0 * gib;
  request.setup.optimizer_states = Placement::cpu;
  request.host_bytes = 8.0 * gib;
  const auto offloaded = estimate_rows(request);
  REQUIRE(offloaded.size() == 4);
  CHECK(offloaded[2].host_is_short);
  CHECK(offloaded[0].optimizer_states == Placement::gpu);
}

TEST_CASE("estimate_rows: measured peaks replace the prediction of their stage", "[model]") {
  const MemoryQuestion question = llama(3);
  EstimateRequest request{
      question.shape, question.setup, question.layout, 80.0 * gib, {}, 4, 64, {}};
  request.measured[3] = {{1, 20.0 * gib}, {2, 25.0 * gib}};
  const auto rows = estimate_rows(request);
  REQUIRE(rows[3].calibrated);
  CHECK(*rows[3].calibrated == Approx(35.0 * gib + rows[3].at.overhead));
  CHECK(rows[3].largest == 12);  // (80 - 0.9 - 15) / 5
  CHECK_FALSE(rows[2].calibrated);
}

TEST_CASE("gpu_memory_named: by model, size and the vendor's whole name", "[model]") {
  CHECK(gpu_memory_named("A100-80GB") == Approx(79.15 * gib).epsilon(0.002));
  CHECK(gpu_memory_named("NVIDIA A100-SXM4-40GB") == Approx(39.6 * gib));
  CHECK(gpu_memory_named("h100") == Approx(79.18 * gib).epsilon(0.002));
  CHECK(gpu_memory_named("V100-16GB") == Approx(15.84 * gib));
  CHECK(gpu_memory_named("MI250X") == Approx(63.36 * gib));
  CHECK(gpu_memory_named("GB200") == Approx(0.99 * 192.0 * gib));
  CHECK_FALSE(gpu_memory_named("80GiB"));
  CHECK(parse_bytes("80GiB") == 80.0 * gib);
  CHECK(parse_bytes("80") == 80.0 * gib);
  CHECK(parse_bytes("80GB") == 80e9);
  CHECK(parse_bytes("1.5TiB") == 1536.0 * gib);
  for (const char* wrong : {"", "GiB", "-1GiB", "0", "80 apples", "nan", "1e300"}) {
    CAPTURE(wrong);
    CHECK_FALSE(parse_bytes(wrong));
  }
}

TEST_CASE("model_states: bf16 without ZeRO has its optimizer's part partitioned all the same",
          "[model]") {
  ParallelLayout layout;
  layout.nodes = 8;
  TrainingSetup setup;
  setup.precision = Precision::bf16;
  // DeepSpeed's BF16_Optimizer: 2 of parameters, 4 of gradients, (4 + 8) / 8 of masters and Adam.
  CHECK(model_states(1e9, 1e9, 0, layout, setup).total() == Approx(7.5e9));
  setup.precision = Precision::fp16;
  CHECK(model_states(1e9, 1e9, 0, layout, setup).total() == Approx(16e9));
}
