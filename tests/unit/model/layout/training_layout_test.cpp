// SPDX-License-Identifier: MIT
#include "slurmtune/model/layout/training_layout.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

LevelParameter numbers(const std::string& role, std::vector<std::int64_t> values) {
  LevelParameter made;
  made.name = role;
  made.role = role;
  for (const auto value : values) made.levels.emplace_back(value);
  return made;
}

LevelParameter flag(const std::string& role) {
  LevelParameter made;
  made.name = role;
  made.role = role;
  made.type = ParameterType::boolean;
  made.levels = {Value(false), Value(true)};
  return made;
}

}  // namespace

TEST_CASE("LayoutReader: what is left of the GPUs is data-parallel", "[model]") {
  const std::vector<LevelParameter> space{
      numbers("tensor_parallel", {1, 2, 4}), numbers("pipeline_parallel", {1, 2}),
      numbers("micro_batch", {1, 4}), flag("sequence_parallel"), flag("activation_checkpointing")};
  LayoutFacts facts = nominal_facts();
  facts.gpus = 32.0;
  facts.global_batch = 256.0;
  const LayoutReader reader(space, facts, {}, RoleSource::given);
  CHECK(reader.is_layout());
  const TrainingLayout layout = reader.of(Levels{2, 1, 1, 1, 1});
  CHECK(layout.data == 4.0);
  CHECK(layout.micro_batches == 16.0);
  CHECK(layout.samples() == 256.0);
  CHECK(layout.gpus() == 32.0);
  CHECK(layout.sequence == 1.0);
  CHECK(layout.tensor_sequence);
  CHECK(layout.checkpointing == 2.0);
  CHECK_FALSE(reader.of(Levels{2, 1, 1, 0, 0}).tensor_sequence);
}

TEST_CASE("LayoutReader: nodes, and accumulation that is given", "[model]") {
  const std::vector<LevelParameter> space{numbers("nodes", {1, 4}),
                                          numbers("gradient_accumulation", {2, 8}),
                                          numbers("zero_stage", {1, 3})};
  LayoutFacts facts = nominal_facts();
  facts.rates.gpus_per_node = 4.0;
  facts.global_batch = 999.0;
  const LayoutReader reader(space, facts, {}, RoleSource::given);
  const TrainingLayout layout = reader.of(Levels{1, 1, 1});
  CHECK(layout.data == 16.0);
  CHECK(layout.micro_batches == 8.0);
  CHECK(layout.zero_stage == 3.0);
  CHECK(reader.of(Levels{-1, 0, -1}).data == 1.0);
}

TEST_CASE("LayoutReader: a local batch is cut up by a pipeline", "[model]") {
  const std::vector<LevelParameter> space{numbers("local_batch", {8}),
                                          numbers("pipeline_parallel", {1, 2})};
  const LayoutReader reader(space, nominal_facts(), {}, RoleSource::given);
  CHECK(reader.of(Levels{0, 0}).micro_batch == 8.0);
  CHECK(reader.of(Levels{0, 0}).micro_batches == 1.0);
  CHECK(reader.of(Levels{0, 1}).micro_batch == 1.0);
  CHECK(reader.of(Levels{0, 1}).micro_batches == 8.0);
}

TEST_CASE("LayoutReader: what nothing says is taken alike for all points", "[model]") {
  const std::vector<LevelParameter> space{numbers("tensor_parallel", {1, 8}),
                                          numbers("pipeline_parallel", {1, 4})};
  const std::vector<Levels> sample{{0, 0}, {1, 0}, {1, 1}};
  const LayoutReader reader(space, nominal_facts(), sample, RoleSource::given);
  CHECK(reader.of(sample[0]).gpus() == 32.0);
  CHECK(reader.of(sample[2]).gpus() == 32.0);
  CHECK(reader.of(sample[0]).micro_batches == reader.of(sample[2]).micro_batches);
  CHECK(reader.of(sample[0]).micro_batches == 16.0);
}

TEST_CASE("machine_rates: by generation, and an A100 where the name is not known", "[model]") {
  CHECK(machine_rates("NVIDIA H100 80GB HBM3").matrix_flops == 989.4e12);
  CHECK(machine_rates("NVIDIA H100 80GB HBM3").node_bytes_per_s >
        machine_rates("NVIDIA A100-SXM4-80GB").node_bytes_per_s);
  CHECK(machine_rates("").matrix_flops == 312e12);
  CHECK(machine_rates("Tesla T4").node_bytes_per_s < 20e9);
}

}  // namespace slurmtune
