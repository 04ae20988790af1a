// SPDX-License-Identifier: MIT
#include "slurmtune/model/layout/layout_memory.hpp"

#include <array>

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

LayoutFacts bigscience() {
  LayoutFacts facts = nominal_facts();
  ModelSpec model;
  model.params = 181e9;
  model.hidden = 14336.0;
  model.layers = 72.0;
  model.heads = 64.0;
  model.vocabulary = 250880.0;
  model.sequence_length = 2048.0;
  model.gated_mlp = false;
  set_shape(facts, model);
  facts.setup.attention = Attention::materialised;
  return facts;
}

TrainingLayout layout_of(double data, double tensor, double pipeline, double micro_batch) {
  TrainingLayout layout;
  layout.data = data;
  layout.tensor = tensor;
  layout.pipeline = pipeline;
  layout.micro_batch = micro_batch;
  layout.micro_batches = 2048.0 / (data * micro_batch);
  layout.checkpointing = 2.0;
  layout.sequence_length = 2048.0;
  return layout;
}

}  // namespace

TEST_CASE("layout_memory: as close to BigScience's 181B as an unknown setup allows", "[model]") {
  // chronicles-prequel.md of bigscience-workshop/bigscience, lines 605 to 798: GB that the fullest
  // GPU of 80 GB showed, ZeRO 1, fp16.
  struct Row {
    double data, tensor, pipeline, micro_batch, measured_gb;
  };
  const std::array<Row, 8> rows{{{12, 8, 4, 2, 53},
                                 {12, 8, 4, 4, 59},
                                 {16, 2, 12, 2, 63},
                                 {16, 4, 6, 4, 75},
                                 {24, 8, 2, 1, 65},
                                 {24, 8, 2, 2, 76},
                                 {8, 8, 6, 4, 55},
                                 {8, 2, 24, 1, 44}}};
  const LayoutFacts facts = bigscience();
  for (const Row& row : rows) {
    const auto layout = layout_of(row.data, row.tensor, row.pipeline, row.micro_batch);
    const double predicted = layout_memory(facts, layout).total() / gib;
    INFO("dp " << row.data << " tp " << row.tensor << " pp " << row.pipeline << ": " << predicted);
    CHECK(predicted == Approx(row.measured_gb).epsilon(0.4));
    CHECK(layout_fits(predicted * gib, 79.15 * gib) > 0.6);
  }
  // What ran out of memory there (lines 786, 798) is less likely to fit than all of them.
  for (const auto& failed : {layout_of(48, 8, 1, 1), layout_of(32, 2, 6, 2)}) {
    CHECK(layout_fits(layout_memory(facts, failed).total(), 79.15 * gib) < 0.55);
  }
}

TEST_CASE("layout_memory: experts are divided among ranks that share them", "[model]") {
  LayoutFacts facts = nominal_facts();
  ModelSpec model;  // Qwen3 30B-A3B, config.json: 128 experts of 768, of which 8 are used
  model.params = 30.5e9;
  model.hidden = 2048.0;
  model.layers = 48.0;
  model.heads = 32.0;
  model.kv_heads = 4.0;
  model.intermediate = 8.0 * 768.0;
  model.vocabulary = 151936.0;
  model.sequence_length = 4096.0;
  model.gated_mlp = true;
  set_shape(facts, model);
  CHECK(facts.expert_params > 26e9);
  CHECK(facts.expert_params < 30e9);
  TrainingLayout layout = layout_of(8, 1, 1, 1);
  layout.sequence_length = 4096.0;
  layout.micro_batches = 1.0;
  layout.expert = 8.0;
  const MemoryBreakdown eight = layout_memory(facts, layout);
  layout.expert = 4.0;
  const MemoryBreakdown four = layout_memory(facts, layout);
  // ZeRO 1: parameters and gradients of an eighth or a fourth of the experts, of the optimizer's
  // states an eighth in both.
  CHECK(four.parameters - eight.parameters == Approx(2.0 * facts.expert_params / 8.0));
  CHECK(four.optimizer == Approx(eight.optimizer));
}

TEST_CASE("layout_memory: is monotone in what roles say", "[model]") {
  const LayoutFacts facts = nominal_facts();
  const auto bytes = [&](auto&& change) {
    TrainingLayout layout = layout_of(8, 2, 2, 2);
    layout.checkpointing = 1.0;
    layout.micro_batches = 16.0;
    change(layout);
    return layout_memory(facts, layout).total();
  };
  const double base = bytes([](TrainingLayout&) {});
  CHECK(bytes([](TrainingLayout& l) { l.micro_batch = 4.0; }) > base);
  CHECK(bytes([](TrainingLayout& l) { l.sequence_length = 4096.0; }) > base);
  CHECK(bytes([](TrainingLayout& l) { l.checkpointing = 0.0; }) > base);
  CHECK(bytes([](TrainingLayout& l) { l.checkpointing = 2.0; }) < base);
  CHECK(bytes([](TrainingLayout& l) { l.tensor = 4.0; }) < base);
  CHECK(bytes([](TrainingLayout& l) { l.pipeline = 4.0; }) < base);
  CHECK(bytes([](TrainingLayout& l) { l.zero_stage = 0.0; }) > base);
  CHECK(bytes([](TrainingLayout& l) { l.zero_stage = 2.0; }) < base);
  CHECK(bytes([](TrainingLayout& l) { l.offload = 1.0; }) < base);
  CHECK(bytes([](TrainingLayout& l) { l.chunks = 2.0; }) > base);
  CHECK(bytes([](TrainingLayout& l) { l.tensor_sequence = true; }) < base);
}

TEST_CASE("layout_fits: a probability, never a cut", "[model]") {
  CHECK(layout_fits(95.0, 100.0) == Approx(0.5));
  CHECK(layout_fits(120.0, 100.0) > 0.15);
  CHECK(layout_fits(120.0, 100.0) < 0.3);
  CHECK(layout_fits(50.0, 100.0) > 0.97);
  CHECK(layout_fits(50.0, 100.0, 0.8) < 0.85);
}

}  // namespace slurmtune
