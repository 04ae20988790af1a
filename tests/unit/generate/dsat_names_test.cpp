// SPDX-License-Identifier: MIT
//
// Names of experiments, against those of DeepSpeed's own autotuner.
#include "slurmtune/generate/label.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;

TEST_CASE("vectors: stage and batch are named as DeepSpeed names them", "[generate]") {
  const auto label = [](std::int64_t stage, std::int64_t accumulation, std::int64_t micro_batch) {
    return label_of({{{"zero_stage", stage},
                      {"gradient_accumulation", accumulation},
                      {"micro_batch", micro_batch}}});
  };
  // The published winners.
  CHECK(label(1, 1, 3) == "z1_gas1_tmbspg3");
  CHECK(label(0, 22, 179) == "z0_gas22_tmbspg179");
  CHECK(label(3, 1, 269) == "z3_gas1_tmbspg269");
}

TEST_CASE("vectors: knobs are named by their keys, in one order", "[generate]") {
  // DeepSpeed has `z1_rbs1.0e+09_abs1.0e+09_tmbspg5_gas2`: initials in the order of the template's
  // keys, which differs from version to version; two keys with the same initials look the same.
  const std::string label = label_of({{{"zero_stage", std::int64_t{1}},
                                       {"gradient_accumulation", std::int64_t{2}},
                                       {"micro_batch", std::int64_t{5}},
                                       {"bucket", std::int64_t{1'000'000'000}}}});
  CHECK(label.starts_with("z1_gas2_tmbspg5"));
  CHECK(label.find("bucket") != std::string::npos);
}
