// SPDX-License-Identifier: MIT
//
// DeepSpeed's batch arithmetic (runtime/config.py, _batch_assertion and _set_batch_related_
// parameters) as a table: train_batch_size = micro-batch x accumulation x data-parallel ranks.
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/unit/input/study_texts.hpp"

using namespace slurmtune;

namespace {

/// What the config gives (0 = nothing), and what DeepSpeed makes of it; 0 = it refuses.
struct Row {
  int train;
  int micro;
  int accumulation;
  int made_micro;
  int made_accumulation;
};

// 8 data-parallel ranks.
const std::vector<Row> rows{
    {64, 4, 2, 4, 2},  // all three: checked
    {64, 4, 1, 0, 0},  // and refused
    {64, 4, 0, 4, 2},  // train and micro-batch: 64 / 4 / 8
    {64, 3, 0, 0, 0},  // 64 / 3 / 8 is rounded down, and then refused
    {64, 0, 4, 2, 4},  // train and accumulation: 64 / 8 / 4
    {64, 0, 3, 0, 0},  // rounded down, and then refused
    {64, 0, 0, 8, 1},  // train alone: accumulation 1
    {60, 0, 0, 0, 0},  // 60 / 8 is rounded down, and then refused
    {0, 4, 2, 4, 2},   // micro-batch and accumulation: train 64
    {0, 4, 0, 4, 1},   // micro-batch alone: accumulation 1
};

std::string config_of(const Row& row) {
  std::string text;
  const auto add = [&](std::string_view key, int value) {
    if (value == 0) return;
    text += (text.empty() ? "{\"" : ", \"") + std::string(key) + "\": " + std::to_string(value);
  };
  add("train_batch_size", row.train);
  add("train_micro_batch_size_per_gpu", row.micro);
  add("gradient_accumulation_steps", row.accumulation);
  return text + "}";
}

}  // namespace

TEST_CASE("vectors: the batch triple is completed and refused as DeepSpeed does", "[input]") {
  for (const Row& row : rows) {
    const std::string config = config_of(row);
    CAPTURE(config);
    const auto input = read_texts(deepspeed_study(), config);
    CHECK(input.has_value() == (row.made_micro != 0));
    if (!input) {
      CHECK(input.error().message.starts_with("ds_config.json:1: "));
      continue;
    }
    CHECK(input->spec.deepspeed->micro_batch == row.made_micro);
    CHECK(input->spec.deepspeed->gradient_accumulation == row.made_accumulation);
    if (row.train != 0) CHECK(input->spec.batch.global == row.train);
  }
}

TEST_CASE("vectors: the batch is divided by model-parallel ranks once, as by DeepSpeed",
          "[input]") {
  // world / sequence_parallel_size, or the size that the model-parallel unit tells.
  const auto input = read_texts(deepspeed_study(),
                                std::string(R"({"train_batch_size": 64, "sequence_parallel_size": 2,
    "gradient_accumulation_steps": 4})"));
  REQUIRE(message_of(input) == "accepted");
  CHECK(input->spec.deepspeed->micro_batch == 4);
}

TEST_CASE("vectors: where DeepSpeed refuses a config without any batch, the study has one",
          "[input]") {
  // The micro-batch is what is tuned, so a config need not have it: 1 to start with. (DeepSpeed:
  // "Either train_batch_size or train_micro_batch_size_per_gpu needs to be provided".)
  for (const std::string config : {"{}", R"({"gradient_accumulation_steps": 4})"}) {
    const auto input = read_texts(deepspeed_study(), config);
    REQUIRE(message_of(input) == "accepted");
    CHECK(input->spec.deepspeed->micro_batch == 1);
  }
}
