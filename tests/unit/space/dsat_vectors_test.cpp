// SPDX-License-Identifier: MIT
//
// The lists of micro-batches that DeepSpeed's own autotuner builds, against the space of ours.
#include <algorithm>
#include <string>
#include <vector>

#include "slurmtune/space/space.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/input/study_texts.hpp"

using namespace slurmtune;

namespace {

/// Of one rank: max_train_batch_size = total, micro-batches up to `most`.
Space space_of(std::int64_t total, std::int64_t most) {
  const auto input = read_texts(
      R"(format = 1
name = "vectors"
[trial]
command = ["train.py", "{ds_config}"]
[deepspeed]
config = "ds_config.json"
)",
      R"({"autotuning": {"max_train_batch_size": )" + std::to_string(total) +
          R"(, "max_train_micro_batch_size_per_gpu": )" + std::to_string(most) + "}}");
  REQUIRE(message_of(input) == "accepted");
  auto space = make_space(input->spec);
  REQUIRE(space.has_value());
  return *std::move(space);
}

/// (min, max, num_tuning_micro_batch_sizes = 3, samples of a rank) -> DeepSpeed's list.
struct Row {
  std::int64_t most;
  std::int64_t total;
  std::vector<std::int64_t> theirs;
};

const std::vector<Row> rows{
    {16, 16, {8, 16}},  {16, 64, {8, 10, 12, 16}},      {15, 256, {7, 9, 11, 13, 15}},
    {93, 93, {46, 93}}, {100, 1000, {50, 66, 82, 100}},
};

}  // namespace

TEST_CASE("vectors: of DeepSpeed's list those stay that make the same global batch", "[space]") {
  for (const Row& row : rows) {
    const Space space = space_of(row.total, row.most);
    const auto ours = space.micro_batches(0);
    CAPTURE(row.most, row.total);
    // 93 has no divisors between 3 and 31: 90 is the batch that micro-batches of all sizes divide.
    const std::int64_t total = row.total == 93 ? 90 : row.total;
    CHECK(space.global_batch() == total);
    // All divisors up to the largest: DeepSpeed's list has a stride instead, rounds the
    // accumulation down, and so compares candidates of different global batches (defect 24).
    for (std::int64_t each = 1; each <= row.most; ++each) {
      CHECK(std::ranges::binary_search(ours, each) == (total % each == 0));
    }
    for (const std::int64_t theirs : row.theirs) {
      const bool same_batch = theirs * (total / theirs) == total;
      CHECK(std::ranges::binary_search(ours, theirs) == same_batch);
    }
    for (const std::int64_t each : ours) {
      const auto whole = space.complete({{std::string(micro_batch_parameter), each}});
      REQUIRE(whole.has_value());
      CHECK(each * *whole->integer(accumulation_parameter) == total);
    }
  }
}
