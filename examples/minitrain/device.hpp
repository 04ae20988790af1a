// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "gemm_shape.hpp"
#include "kernels.hpp"

namespace minitrain {

class DeviceMemory;

/// A matrix product of one device, with whatever it keeps for that.
class MatrixProduct {
 public:
  virtual ~MatrixProduct() = default;
  /// C = A B, or C += A B; C is row-major and `shape.columns` wide, and overlaps neither A nor B.
  /// One stride of each view is 1.
  virtual void multiply(GemmShape shape, MatrixView a, MatrixView b, float* c,
                        Accumulate accumulate) = 0;
};

/// What a trainer computes on: its memory, and the operations on it. All pointers and spans are
/// this device's unless they are said to be the host's; everything is done in order.
/// Throws std::runtime_error when the device itself fails.
class Device {
 public:
  virtual ~Device() = default;

  /// In the words of its maker; "" for the processor.
  [[nodiscard]] virtual std::string name() const = 0;
  /// True if the host may read and write the memory as its own.
  [[nodiscard]] virtual bool memory_is_host() const = 0;
  /// Memory in all; nothing if only a limit decides.
  [[nodiscard]] virtual std::optional<std::uint64_t> capacity_bytes() const = 0;

  /// 64-byte aligned, or nullptr if there is no more.
  [[nodiscard]] virtual float* allocate(std::size_t bytes) = 0;
  virtual void release(float* data) noexcept = 0;
  /// Waits until all that was asked for is done.
  virtual void finish() = 0;

  virtual void zero(std::span<float> values) = 0;
  virtual void copy(std::span<const float> from, float* to) = 0;
  virtual void upload(std::span<const float> host, float* to) = 0;
  virtual void download(std::span<const float> from, float* host) = 0;

  [[nodiscard]] virtual std::unique_ptr<MatrixProduct> make_product(DeviceMemory& memory) = 0;

  // The kernels of kernels.hpp.
  virtual void add_bias(std::span<float> matrix, std::span<const float> bias) = 0;
  virtual void accumulate_column_sums(std::span<const float> matrix,
                                      std::span<float> bias_gradient) = 0;
  virtual void activate(std::span<const float> z, std::span<float> out) = 0;
  virtual void activate_backward(std::span<const float> z, std::span<float> gradient) = 0;
  virtual void add(std::span<const float> value, std::span<float> out) = 0;
  virtual void scale(float factor, std::span<float> out) = 0;
  [[nodiscard]] virtual double squared_error(std::span<const float> prediction,
                                             std::span<const float> target) = 0;
  virtual void squared_error_backward(float factor, std::span<const float> target,
                                      std::span<float> prediction) = 0;
  virtual void adam_update(const AdamStep& step, std::span<const float> gradient,
                           std::span<float> parameter, std::span<float> first,
                           std::span<float> second) = 0;
};

/// The processor: one core, the host's memory.
[[nodiscard]] Device& cpu_device();

}  // namespace minitrain
