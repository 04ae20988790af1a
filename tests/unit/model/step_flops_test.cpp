// SPDX-License-Identifier: MIT
#include "slurmtune/model/step_flops.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

TEST_CASE("flops_per_token: 6 a parameter, and attention where the shape is known", "[model]") {
  CHECK_FALSE(flops_per_token({}).has_value());
  CHECK_FALSE(flops_per_token({.params = -1.0}).has_value());
  CHECK(flops_per_token({.params = 1e9}) == 6e9);
  // GPT-2 XL: 1.558e9 parameters, 48 layers, 1600 wide, 1024 long.
  const ModelShape gpt2{
      .params = 1.558e9, .layers = 48.0, .hidden = 1600.0, .sequence_length = 1024.0};
  CHECK(flops_per_token(gpt2) == Approx(6 * 1.558e9 + 12.0 * 48 * 1600 * 1024));
}

TEST_CASE("achieved_flops_per_gpu: tokens a second and GPU times the count", "[model]") {
  const ModelShape shape{.params = 1e9, .sequence_length = 2048.0};
  CHECK(achieved_flops_per_gpu(shape, {.step_s = 0.5, .samples = 64, .gpus = 8}) ==
        Approx(64 * 2048 * 6e9 / 0.5 / 8));
  CHECK_FALSE(achieved_flops_per_gpu(shape, {.step_s = 0.0, .samples = 64, .gpus = 8}));
  CHECK_FALSE(achieved_flops_per_gpu(shape, {.step_s = 0.5, .samples = 0, .gpus = 8}));
  CHECK_FALSE(achieved_flops_per_gpu({.params = 1e9}, {.step_s = 0.5, .samples = 64, .gpus = 8}));
}

TEST_CASE("gpu_peak_flops: knows devices by the names that drivers tell", "[model]") {
  CHECK(gpu_peak_flops("NVIDIA H100 80GB HBM3") == 989.4e12);
  CHECK(gpu_peak_flops("NVIDIA H100 PCIe") == 756.4e12);
  CHECK(gpu_peak_flops("NVIDIA H200") == 989.4e12);
  CHECK(gpu_peak_flops("NVIDIA A100-SXM4-40GB") == 311.9e12);
  CHECK(gpu_peak_flops("Tesla V100-SXM2-16GB") == 125e12);
  CHECK(gpu_peak_flops("NVIDIA L4") == 121e12);
  CHECK(gpu_peak_flops("NVIDIA L40S") == 362.1e12);
  CHECK(gpu_peak_flops("AMD Instinct MI250X") == 191.5e12);
  CHECK_FALSE(gpu_peak_flops("NVIDIA A1000").has_value());
  CHECK_FALSE(gpu_peak_flops("").has_value());
}

}  // namespace slurmtune
