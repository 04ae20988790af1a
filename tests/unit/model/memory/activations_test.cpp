// SPDX-License-Identifier: MIT
#include "slurmtune/model/memory/activations.hpp"

#include <array>

#include "tests/support/catch.hpp"

using namespace slurmtune;

namespace {

/// A model of Korthikanti et al., table 3, and the bytes of a layer by technique, on one of eight
/// tensor-parallel ranks but for the first.
struct Published {
  const char* name;
  double hidden;
  double layers;
  double heads;
  double micro_batch;
  std::array<double, 6> bytes;
};

constexpr std::array<Published, 4> published{{
    {"22B", 6144, 48, 64, 4, {7079985152, 1325400064, 884998144, 654311424, 213909504, 100663296}},
    {"175B", 12288, 96, 96, 1, {2868903936, 578813952, 358612992, 327155712, 106954752, 50331648}},
    {"530B",
     20480,
     105,
     128,
     1,
     {4110417920, 880803840, 513802240, 545259520, 178257920, 83886080}},
    {"1T",
     25600,
     128,
     160,
     1,
     {5138022400, 1101004800, 642252800, 681574400, 222822400, 104857600}},
}};

TransformerShape shape_of(const Published& model) {
  TransformerShape shape;
  shape.hidden = model.hidden;
  shape.layers = model.layers;
  shape.heads = model.heads;
  shape.kv_heads = model.heads;
  shape.intermediate = 4.0 * model.hidden;
  shape.sequence = 2048;
  return shape;
}

TransformerShape llama_7b() {
  TransformerShape shape;
  shape.params = shape.trainable = 6738415616.0;
  shape.hidden = 4096;
  shape.layers = 32;
  shape.heads = shape.kv_heads = 32;
  shape.intermediate = 11008;
  shape.vocabulary = 32000;
  shape.sequence = 2048;
  shape.mlp = MlpKind::gated;
  return shape;
}

}  // namespace

TEST_CASE("activations: a layer's are those of Korthikanti et al., tables 2 and 3", "[model]") {
  for (const Published& model : published) {
    CAPTURE(model.name);
    const TransformerShape shape = shape_of(model);
    TrainingSetup setup;
    setup.precision = Precision::fp16;
    setup.attention = Attention::materialised;
    ParallelLayout layout;
    const auto layer = [&] {
      return layer_activation_bytes(shape, model.micro_batch, layout, setup);
    };
    CHECK(layer() == Approx(model.bytes[0]));
    layout.processes_per_node = layout.tensor = 8;
    CHECK(layer() == Approx(model.bytes[1]));
    setup.tensor_activations = TensorActivations::sequence_parallel;
    CHECK(layer() == Approx(model.bytes[2]));
    setup.checkpointing = Checkpointing::selective;
    CHECK(layer() == Approx(model.bytes[4]));
    setup.tensor_activations = TensorActivations::replicated;
    CHECK(layer() == Approx(model.bytes[3]));
    setup.checkpointing = Checkpointing::full;
    CHECK(layer() == Approx(model.bytes[5]));
  }
}

TEST_CASE("activations: flash attention saves what selective recomputation does", "[model]") {
  const TransformerShape shape = shape_of(published[0]);
  const ParallelLayout layout;
  TrainingSetup flash;
  flash.precision = Precision::fp16;
  TrainingSetup selective = flash;
  selective.attention = Attention::materialised;
  selective.checkpointing = Checkpointing::selective;
  CHECK(layer_activation_bytes(shape, 4, layout, flash) ==
        layer_activation_bytes(shape, 4, layout, selective));
}

TEST_CASE("activations: a gated layer is counted tensor by tensor", "[model]") {
  // Norms 16, queries, keys, values and the attention's result 8, MLP 8 x 2.6875; fewer keys and
  // values save 2 x 2 of them.
  TransformerShape shape = llama_7b();
  TrainingSetup setup;
  setup.precision = Precision::bf16;
  const double element = 2048.0 * 4096.0;
  const ParallelLayout layout;
  CHECK(layer_activation_bytes(shape, 1, layout, setup) == Approx((16 + 8 + 21.5) * element));
  shape.kv_heads = 8;
  CHECK(layer_activation_bytes(shape, 1, layout, setup) == Approx((16 + 5 + 21.5) * element));
  setup.precision = Precision::fp32;
  CHECK(layer_activation_bytes(shape, 1, layout, setup) == Approx((16 + 2 * 26.5) * element));
}

TEST_CASE("activations: with checkpointing one layer is there whole, in turn", "[model]") {
  const TransformerShape shape = llama_7b();
  const ParallelLayout layout;
  TrainingSetup setup;
  setup.precision = Precision::bf16;
  const ActivationBytes all = activation_bytes(shape, 2, layout, setup);
  setup.checkpointing = Checkpointing::full;
  const ActivationBytes kept = activation_bytes(shape, 2, layout, setup);
  CHECK(kept.stored < all.stored / 10.0);
  setup.checkpointing = Checkpointing::none;
  CHECK(kept.working == Approx(all.working + layer_activation_bytes(shape, 2, layout, setup)));
  setup.checkpointing = Checkpointing::full;
  setup.checkpoints = Placement::cpu;
  const ActivationBytes moved = activation_bytes(shape, 2, layout, setup);
  CHECK(moved.host == Approx(32.0 * 2.0 * 2.0 * 2048.0 * 4096.0));
  CHECK(moved.stored + moved.host == Approx(kept.stored));
}

TEST_CASE("activations: logits are counted with what the loss makes of them", "[model]") {
  TrainingSetup setup;
  setup.precision = Precision::bf16;
  ParallelLayout layout;
  CHECK(logit_bytes(llama_7b(), 3, layout, setup) == Approx(3.0 * 2048.0 * 32000.0 * 14.0));
  setup.precision = Precision::fp32;
  CHECK(logit_bytes(llama_7b(), 1, layout, setup) == Approx(2048.0 * 32000.0 * 12.0));
  layout.processes_per_node = layout.tensor = 2;
  CHECK(logit_bytes(llama_7b(), 1, layout, setup) == Approx(1024.0 * 32000.0 * 12.0));
}

TEST_CASE("activations: ranks that share a sequence share its activations", "[model]") {
  TrainingSetup setup;
  setup.precision = Precision::bf16;
  ParallelLayout layout;
  const double alone = activation_bytes(llama_7b(), 1, layout, setup).stored;
  layout.processes_per_node = layout.sequence = 4;
  CHECK(activation_bytes(llama_7b(), 1, layout, setup).stored == Approx(alone / 4.0));
}

TEST_CASE("activations: a pipeline's first stage holds a micro-batch for each stage", "[model]") {
  TrainingSetup setup;
  setup.precision = Precision::bf16;
  ParallelLayout layout;
  const double alone = activation_bytes(llama_7b(), 1, layout, setup).stored;
  layout.processes_per_node = layout.pipeline = 4;
  CHECK(activation_bytes(llama_7b(), 1, layout, setup).stored == Approx(alone));
  layout.micro_batches = 1;
  CHECK(activation_bytes(llama_7b(), 1, layout, setup).stored == Approx(alone / 4.0).epsilon(0.02));
}
