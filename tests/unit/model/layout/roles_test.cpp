// SPDX-License-Identifier: MIT
#include "slurmtune/model/layout/roles.hpp"

#include <string>

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

LevelParameter parameter(std::string name, std::string role, std::vector<Value> levels) {
  LevelParameter made;
  made.name = std::move(name);
  made.role = std::move(role);
  made.levels = std::move(levels);
  return made;
}

Value word(const char* text) { return std::string(text); }

}  // namespace

TEST_CASE("quantity_of: numbers, words and switches of a role", "[model]") {
  const auto ac = LayoutRole::activation_checkpointing;
  CHECK(quantity_of(ac, word("none")) == 0.0);
  CHECK(quantity_of(ac, word("selective")) == 1.0);
  CHECK(quantity_of(ac, word("full")) == 2.0);
  CHECK(quantity_of(ac, Value(true)) == 2.0);
  CHECK_FALSE(quantity_of(ac, word("sometimes")).has_value());
  CHECK(quantity_of(LayoutRole::zero_stage, word("FULL_SHARD")) == 3.0);
  CHECK(quantity_of(LayoutRole::zero_stage, word("2")) == 2.0);
  CHECK_FALSE(quantity_of(LayoutRole::zero_stage, Value(std::int64_t{4})).has_value());
  CHECK_FALSE(quantity_of(LayoutRole::zero_stage, word("HYBRID_SHARD")).has_value());
  CHECK(quantity_of(LayoutRole::tensor_parallel, Value(std::int64_t{8})) == 8.0);
  CHECK_FALSE(quantity_of(LayoutRole::tensor_parallel, Value(std::int64_t{0})).has_value());
  CHECK(quantity_of(LayoutRole::offload, word("cpu")) == 1.0);
  CHECK_FALSE(quantity_of(LayoutRole::none, Value(std::int64_t{8})).has_value());
}

TEST_CASE("likely_role: options of trainers, whatever their spelling", "[model]") {
  CHECK(likely_role("--tensor-model-parallel-size") == LayoutRole::tensor_parallel);
  CHECK(likely_role("parallelism.pipeline_parallel_degree") == LayoutRole::pipeline_parallel);
  CHECK(likely_role("MBS") == LayoutRole::micro_batch);
  CHECK(likely_role("block_size_x") == LayoutRole::none);
  CHECK(likely_role("dropout") == LayoutRole::none);
}

TEST_CASE("roled_parameters: names count only where they are asked for, and give way to roles",
          "[model]") {
  const std::vector<LevelParameter> parameters{
      parameter("mbs", "", {Value(std::int64_t{1}), Value(std::int64_t{2})}),
      parameter("batch", "micro_batch", {Value(std::int64_t{4})}),
      parameter("tp", "", {Value(std::int64_t{1})})};
  const auto given = roled_parameters(parameters, RoleSource::given);
  CHECK(given[0].role == LayoutRole::none);
  CHECK(given[1].role == LayoutRole::micro_batch);
  CHECK(given[2].role == LayoutRole::none);
  const auto named = roled_parameters(parameters, RoleSource::given_or_named);
  CHECK(named[0].role == LayoutRole::none);
  CHECK(named[2].role == LayoutRole::tensor_parallel);
}

TEST_CASE("roled_parameters: numbers of checkpointing are a switch or layers", "[model]") {
  const std::string role = "activation_checkpointing";
  const std::vector<LevelParameter> parameters{
      parameter("a", role, {Value(std::int64_t{0}), Value(std::int64_t{1})})};
  CHECK(roled_parameters(parameters, RoleSource::given)[0].quantities[1] == 2.0);
  const std::vector<LevelParameter> layers{parameter(
      "a", role, {Value(std::int64_t{0}), Value(std::int64_t{6}), Value(std::int64_t{24})})};
  CHECK(roled_parameters(layers, RoleSource::given)[0].quantities[1] == 0.5);
  CHECK(roled_parameters(layers, RoleSource::given)[0].quantities[2] == 2.0);
}

}  // namespace slurmtune
