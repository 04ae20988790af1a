// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>

#include "device.hpp"
#include "gemm.hpp"

namespace minitrain {
namespace {

constexpr std::size_t alignment_bytes = 64;

class CpuDevice final : public Device {
 public:
  [[nodiscard]] std::string name() const override { return ""; }
  [[nodiscard]] bool memory_is_host() const override { return true; }
  [[nodiscard]] std::optional<std::uint64_t> capacity_bytes() const override {
    return std::nullopt;
  }

  [[nodiscard]] float* allocate(std::size_t bytes) override {
    // aligned_alloc wants a size that is a multiple of the alignment.
    const std::size_t rounded = (bytes + alignment_bytes - 1) / alignment_bytes * alignment_bytes;
    return static_cast<float*>(std::aligned_alloc(alignment_bytes, rounded));
  }
  void release(float* data) noexcept override { std::free(data); }
  void finish() override {}

  void zero(std::span<float> values) override { std::ranges::fill(values, 0.0F); }
  void copy(std::span<const float> from, float* to) override {
    std::copy_n(from.data(), from.size(), to);
  }
  void upload(std::span<const float> host, float* to) override { copy(host, to); }
  void download(std::span<const float> from, float* host) override { copy(from, host); }

  [[nodiscard]] std::unique_ptr<MatrixProduct> make_product(DeviceMemory& memory) override {
    return std::make_unique<Gemm>(memory);
  }

  void add_bias(std::span<float> matrix, std::span<const float> bias) override {
    minitrain::add_bias(matrix, bias);
  }
  void accumulate_column_sums(std::span<const float> matrix,
                              std::span<float> bias_gradient) override {
    minitrain::accumulate_column_sums(matrix, bias_gradient);
  }
  void activate(std::span<const float> z, std::span<float> out) override {
    minitrain::activate(z, out);
  }
  void activate_backward(std::span<const float> z, std::span<float> gradient) override {
    minitrain::activate_backward(z, gradient);
  }
  void add(std::span<const float> value, std::span<float> out) override {
    minitrain::add(value, out);
  }
  void scale(float factor, std::span<float> out) override { minitrain::scale(factor, out); }
  [[nodiscard]] double squared_error(std::span<const float> prediction,
                                     std::span<const float> target) override {
    return minitrain::squared_error(prediction, target);
  }
  void squared_error_backward(float factor, std::span<const float> target,
                              std::span<float> prediction) override {
    minitrain::squared_error_backward(factor, target, prediction);
  }
  void adam_update(const AdamStep& step, std::span<const float> gradient,
                   std::span<float> parameter, std::span<float> first,
                   std::span<float> second) override {
    minitrain::adam_update(step, gradient, parameter, first, second);
  }
};

}  // namespace

Device& cpu_device() {
  static CpuDevice device;
  return device;
}

}  // namespace minitrain
