// SPDX-License-Identifier: MIT
#include "slurmtune/model/memory/deepspeed_estimators.hpp"

#include <array>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "tests/support/catch.hpp"

using namespace slurmtune;

namespace {

constexpr double gib = 1024.0 * 1024.0 * 1024.0;

/// What DeepSpeed printed, `per CPU | per GPU` in GiB.
struct PrintedRow {
  std::string_view source;
  int stage;
  double params;
  double largest_layer;
  std::int64_t gpus;
  bool offload_param;
  bool offload_optimizer;
  bool zero_init;
  std::string_view cpu;
  std::string_view gpu;
};

constexpr std::string_view docs = "DeepSpeed docs/code-docs/source/memory.rst";
constexpr std::string_view posted = "blog.csdn.net/u012327567/article/details/132278598";

// t5-3b and t5-small have these parameters, and a vocabulary of 32128 as their largest module;
// "cold" rows are asked by the rounded figures.
constexpr double t5_3b = 2851598336.0;
constexpr double t5_3b_layer = 32128.0 * 1024.0;
constexpr double t5_small = 60506624.0;
constexpr double t5_small_layer = 32128.0 * 512.0;

constexpr std::array<PrintedRow, 22> printed{{
    {docs, 2, t5_3b, 0, 8, false, true, true, "127.48", "5.31"},
    {docs, 2, t5_3b, 0, 8, false, false, true, "127.48", "15.93"},
    {docs, 2, 2851e6, 0, 8, false, true, true, "127.45", "5.31"},
    {docs, 2, 2851e6, 0, 8, false, false, true, "127.45", "15.93"},
    {docs, 3, t5_3b, t5_3b_layer, 8, true, true, true, "71.71", "0.12"},
    {docs, 3, t5_3b, t5_3b_layer, 8, true, true, false, "127.48", "0.12"},
    {docs, 3, t5_3b, t5_3b_layer, 8, false, true, true, "63.74", "0.79"},
    {docs, 3, t5_3b, t5_3b_layer, 8, false, true, false, "127.48", "0.79"},
    {docs, 3, t5_3b, t5_3b_layer, 8, false, false, true, "1.47", "6.10"},
    {docs, 3, t5_3b, t5_3b_layer, 8, false, false, false, "127.48", "6.10"},
    {docs, 3, 2851e6, 32e6, 8, true, true, true, "71.69", "0.12"},
    {docs, 3, 2851e6, 32e6, 8, true, true, false, "127.45", "0.12"},
    {docs, 3, 2851e6, 32e6, 8, false, true, true, "63.72", "0.78"},
    {docs, 3, 2851e6, 32e6, 8, false, true, false, "127.45", "0.78"},
    {docs, 3, 2851e6, 32e6, 8, false, false, true, "1.43", "6.09"},
    {docs, 3, 2851e6, 32e6, 8, false, false, false, "127.45", "6.09"},
    {posted, 3, t5_small, t5_small_layer, 1, true, true, true, "1.52", "0.06"},
    {posted, 3, t5_small, t5_small_layer, 1, true, true, false, "1.52", "0.06"},
    {posted, 3, t5_small, t5_small_layer, 1, false, true, true, "1.35", "0.17"},
    {posted, 3, t5_small, t5_small_layer, 1, false, true, false, "1.35", "0.17"},
    {posted, 3, t5_small, t5_small_layer, 1, false, false, true, "0.09", "1.08"},
    {posted, 3, t5_small, t5_small_layer, 1, false, false, false, "0.34", "1.08"},
}};

EstimatedNeeds needs_of(const PrintedRow& row) {
  EstimatorQuestion asked;
  asked.total_params = row.params;
  asked.largest_layer_params = row.largest_layer;
  asked.gpus_per_node = row.gpus;
  asked.offload_param = row.offload_param;
  asked.offload_optimizer = row.offload_optimizer;
  asked.zero_init = row.zero_init;
  asked.edition = EstimatorEdition::documented;
  return row.stage == 2 ? estimate_zero2_model_states_mem_needs(asked)
                        : estimate_zero3_model_states_mem_needs(asked);
}

}  // namespace

TEST_CASE("DeepSpeed's estimators are reproduced to the last digit that they print", "[model]") {
  for (const PrintedRow& row : printed) {
    CAPTURE(row.source, row.stage, row.params, row.gpus, row.offload_param, row.offload_optimizer,
            row.zero_init);
    const EstimatedNeeds needs = needs_of(row);
    CHECK(fmt::format("{:.2f}", static_cast<double>(needs.cpu_bytes) / gib) == row.cpu);
    CHECK(fmt::format("{:.2f}", static_cast<double>(needs.gpu_bytes) / gib) == row.gpu);
  }
}

TEST_CASE("DeepSpeed's estimators: its example of t5-large, which it prints in whole MiB",
          "[model]") {
  // docs/code-docs/source/memory.rst: 3291, 125 and 477 MB (3.2139, 0.1221 and 0.4658 GiB).
  EstimatorQuestion asked;
  asked.total_params = 737668096.0;
  asked.largest_layer_params = 32128.0 * 1024.0;
  asked.gpus_per_node = 4;
  const auto mib = [&] { return estimate_zero3_model_states_mem_needs(asked).gpu_bytes >> 20U; };
  CHECK(mib() == 125);
  asked.offload_param = false;
  CHECK(mib() == 477);
  asked.offload_optimizer = false;
  CHECK(mib() == 3291);
}

TEST_CASE("DeepSpeed's estimators: at stage 2, 0.14 counts otherwise than its documentation",
          "[model]") {
  // Run with DeepSpeed 0.14.4: estimate_zero2_model_states_mem_needs(2851598336, 8, 1, False).
  EstimatorQuestion asked;
  asked.total_params = t5_3b;
  asked.gpus_per_node = 8;
  asked.offload_optimizer = false;
  const EstimatedNeeds needs = estimate_zero2_model_states_mem_needs(asked);
  CHECK(needs.gpu_bytes == 12119292928);
  CHECK(needs.cpu_bytes == 136876720128);
}

TEST_CASE("DeepSpeed's estimators: a node holds its share of what is offloaded", "[model]") {
  EstimatorQuestion asked;
  asked.total_params = 1e9;
  asked.largest_layer_params = 1e7;
  asked.gpus_per_node = 4;
  asked.nodes = 2;
  CHECK(estimate_zero3_model_states_mem_needs(asked).cpu_bytes == 13'500'000'000);
  asked.zero_init = false;
  CHECK(estimate_zero3_model_states_mem_needs(asked).cpu_bytes == 24'000'000'000);
  CHECK(estimate_zero2_model_states_mem_needs(asked).cpu_bytes == 48'000'000'000);
}
