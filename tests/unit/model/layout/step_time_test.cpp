// SPDX-License-Identifier: MIT
#include "slurmtune/model/layout/step_time.hpp"

#include <array>
#include <cmath>

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

LayoutFacts facts_of(double hidden, double layers, double heads, double vocabulary,
                     double sequence) {
  LayoutFacts facts = nominal_facts();
  ModelSpec model;
  model.hidden = hidden;
  model.layers = layers;
  model.heads = heads;
  model.vocabulary = vocabulary;
  model.sequence_length = sequence;
  model.gated_mlp = false;
  set_shape(facts, model);
  return facts;
}

/// Operations that Narayanan et al. count for a step, recomputation included (SC21, equation 3).
double counted_flops(const LayoutFacts& facts, double samples) {
  const TransformerShape& shape = facts.shape;
  const double h = shape.hidden;
  return 96.0 * samples * shape.sequence * shape.layers * h * h *
         (1.0 + shape.sequence / (6.0 * h) + shape.vocabulary / (16.0 * shape.layers * h));
}

double samples_per_s(const LayoutFacts& facts, const TrainingLayout& layout) {
  return layout.samples() / step_time(facts, layout).total();
}

TrainingLayout plain() {
  TrainingLayout layout;
  layout.sequence_length = 2048.0;
  return layout;
}

}  // namespace

TEST_CASE("step_time: within a fifth of what Megatron-LM reached from 1.7B to 1T", "[model]") {
  // Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using
  // Megatron-LM", SC21, table 1: A100 of 80 GB, 8 in a node, a link of 200 Gbit/s for each;
  // activations recomputed, interleaved schedule, attention with its scores in memory.
  struct Row {
    double heads, hidden, layers, tensor, pipeline, gpus, micro_batch, global_batch, tflops;
  };
  const std::array<Row, 10> rows{{{24, 2304, 24, 1, 1, 32, 16, 512, 137},
                                  {32, 3072, 30, 2, 1, 64, 16, 512, 138},
                                  {32, 4096, 36, 4, 1, 128, 16, 512, 142},
                                  {48, 6144, 40, 8, 1, 256, 8, 1024, 135},
                                  {64, 8192, 48, 8, 2, 512, 4, 1536, 138},
                                  {80, 10240, 60, 8, 4, 1024, 2, 1792, 140},
                                  {96, 12288, 80, 8, 8, 1536, 2, 2304, 148},
                                  {128, 16384, 96, 8, 16, 1920, 1, 2160, 155},
                                  {128, 20480, 105, 8, 35, 2520, 1, 2520, 163},
                                  {160, 25600, 128, 8, 64, 3072, 1, 3072, 163}}};
  for (const Row& row : rows) {
    LayoutFacts facts = facts_of(row.hidden, row.layers, row.heads, 51200.0, 2048.0);
    facts.setup.attention = Attention::materialised;
    facts.rates = machine_rates("A100");
    facts.rates.network_bytes_per_s = 25e9;
    TrainingLayout layout = plain();
    layout.zero_stage = 0.0;
    layout.tensor = row.tensor;
    layout.pipeline = row.pipeline;
    layout.chunks = row.pipeline > 1.0 ? 2.0 : 1.0;
    layout.data = row.gpus / (row.tensor * row.pipeline);
    layout.micro_batch = row.micro_batch;
    layout.micro_batches = row.global_batch / (layout.data * row.micro_batch);
    layout.checkpointing = 2.0;
    const double rate = counted_flops(facts, row.global_batch) /
                        (step_time(facts, layout).total() * row.gpus) / 1e12;
    INFO("hidden " << row.hidden << ": " << rate << " against " << row.tflops);
    CHECK(rate == Approx(row.tflops).epsilon(0.2));
  }
}

TEST_CASE("step_time: prefers what BigScience found best for 181B on 384 A100", "[model]") {
  // bigscience-workshop/bigscience, train/tr11-176B-ml/chronicles-prequel.md, lines 786 and 798:
  // TFLOP/s of dp 24 tp 8 pp 2 mbs 1: 109; dp 12 tp 8 pp 4 mbs 2: 126; dp 16 tp 4 pp 6 mbs 2: 144;
  // dp 4 tp 4 pp 24 mbs 1: 123. Jean Zay: four links of 100 Gbit/s for 8 GPUs.
  LayoutFacts facts = facts_of(14336.0, 72.0, 64.0, 250880.0, 2048.0);
  facts.rates = machine_rates("A100");
  facts.rates.network_bytes_per_s = 6.25e9;
  const auto rate = [&](double data, double tensor, double pipeline, double micro_batch) {
    TrainingLayout layout = plain();
    layout.data = data;
    layout.tensor = tensor;
    layout.pipeline = pipeline;
    layout.micro_batch = micro_batch;
    layout.micro_batches = 2048.0 / (data * micro_batch);
    layout.checkpointing = 2.0;
    return samples_per_s(facts, layout);
  };
  const double best = rate(16, 4, 6, 2);
  CHECK(best > rate(24, 8, 2, 1));
  CHECK(best > rate(12, 8, 4, 2));
  CHECK(best > rate(4, 4, 24, 1));
}

TEST_CASE("step_time: a pipeline's bubble is (p - 1) / m of the rest", "[model]") {
  const LayoutFacts facts = facts_of(4096.0, 32.0, 32.0, 0.0, 2048.0);
  TrainingLayout layout = plain();
  layout.pipeline = 4.0;
  layout.micro_batches = 8.0;
  const StepTime few = step_time(facts, layout);
  layout.micro_batches = 16.0;
  const StepTime more = step_time(facts, layout);
  layout.chunks = 2.0;
  const StepTime interleaved = step_time(facts, layout);
  // What 8 micro-batches more cost, of which the bubble is three.
  const double micro_batch = (more.total() - few.total()) / 8.0;
  const double sent = (more.pipeline - few.pipeline) / 8.0;
  CHECK(few.pipeline - 8.0 * sent == Approx(3.0 * micro_batch));
  CHECK(interleaved.pipeline < more.pipeline);
}

TEST_CASE("step_time: recomputation costs a third, offloading and far links more", "[model]") {
  const LayoutFacts facts = facts_of(4096.0, 32.0, 32.0, 50000.0, 2048.0);
  TrainingLayout layout = plain();
  layout.data = 8.0;
  layout.micro_batch = 4.0;
  layout.micro_batches = 4.0;
  const double none = step_time(facts, layout).compute;
  TrainingLayout other = layout;
  other.checkpointing = 2.0;
  const double full = step_time(facts, other).compute;
  other.checkpointing = 1.0;
  const double selective = step_time(facts, other).compute;
  CHECK(full / none == Approx(4.0 / 3.0).epsilon(0.05));
  CHECK(selective > none);
  CHECK(selective < full);

  other = layout;
  other.offload = 1.0;
  CHECK(step_time(facts, other).optimizer > 5.0 * step_time(facts, layout).optimizer);
  // Tensor parallelism within a node and beyond it.
  other = layout;
  other.data = 1.0;
  other.tensor = 8.0;
  const double inside = step_time(facts, other).tensor;
  other.tensor = 16.0;
  CHECK(step_time(facts, other).tensor > 1.2 * inside);
}

TEST_CASE("step_time: ZeRO 3 exchanges more than ZeRO 1, and hides it behind larger batches",
          "[model]") {
  const LayoutFacts facts = facts_of(4096.0, 32.0, 32.0, 50000.0, 2048.0);
  TrainingLayout layout = plain();
  layout.data = 64.0;
  layout.micro_batches = 4.0;
  layout.zero_stage = 3.0;
  const StepTime small = step_time(facts, layout);
  layout.zero_stage = 1.0;
  CHECK(small.total() > step_time(facts, layout).total());
  layout.zero_stage = 3.0;
  layout.micro_batch = 16.0;
  const StepTime large = step_time(facts, layout);
  CHECK(large.gather / large.total() < small.gather / small.total());
}

TEST_CASE("step_time: experts cost what their tokens travel", "[model]") {
  LayoutFacts facts = facts_of(2048.0, 48.0, 32.0, 150000.0, 2048.0);
  facts.expert_params = 28e9;
  facts.shape.params = 30e9;
  TrainingLayout layout = plain();
  layout.data = 16.0;
  CHECK(step_time(facts, layout).expert == 0.0);
  layout.expert = 8.0;
  const double inside = step_time(facts, layout).expert;
  CHECK(inside > 0.0);
  layout.expert = 16.0;
  CHECK(step_time(facts, layout).expert > inside);
}

}  // namespace slurmtune
