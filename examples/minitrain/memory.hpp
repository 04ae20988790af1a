// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>

#include "device.hpp"

namespace minitrain {

/// The device is full. An exception, unlike our other errors: an allocation can fail anywhere in
/// a step, and nothing between it and main can do anything about it.
class OutOfMemoryError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The memory of one rank's device: counts what is allocated and refuses to pass the limit.
/// Every tensor of a trainer comes from one of these, so its peak is the trainer's peak.
class DeviceMemory {
 public:
  /// Without a limit everything is counted and nothing refused.
  explicit DeviceMemory(std::optional<std::uint64_t> limit_bytes, Device& device = cpu_device())
      : limit_bytes_{limit_bytes}, device_{device} {}
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  [[nodiscard]] std::optional<std::uint64_t> limit_bytes() const { return limit_bytes_; }
  [[nodiscard]] Device& device() const { return device_; }
  [[nodiscard]] std::uint64_t allocated_bytes() const { return allocated_bytes_; }
  [[nodiscard]] std::uint64_t peak_bytes() const { return peak_bytes_; }

 private:
  friend class Tensor;
  /// Throws OutOfMemoryError beyond the limit, or when the device itself has no more.
  [[nodiscard]] float* allocate(std::uint64_t bytes);
  void release(float* data, std::uint64_t bytes) noexcept;

  std::optional<std::uint64_t> limit_bytes_;
  Device& device_;
  std::uint64_t allocated_bytes_ = 0;
  std::uint64_t peak_bytes_ = 0;
};

/// What a new tensor holds. Zeroing costs a pass over the memory: ask for it where it is needed.
enum class Fill { none, zero };

/// A block of float32 on the device, 64-byte aligned, given back when it goes out of scope.
class Tensor {
 public:
  Tensor() = default;
  /// Throws OutOfMemoryError.
  Tensor(DeviceMemory& memory, std::size_t elements, Fill fill = Fill::none);
  Tensor(Tensor&& other) noexcept;
  Tensor& operator=(Tensor&& other) noexcept;
  Tensor(const Tensor&) = delete;
  Tensor& operator=(const Tensor&) = delete;
  ~Tensor() { reset(); }

  void reset() noexcept;
  void zero();
  [[nodiscard]] float* data() { return data_; }
  [[nodiscard]] const float* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return elements_; }
  [[nodiscard]] std::span<float> span() { return {data_, elements_}; }
  [[nodiscard]] std::span<const float> span() const { return {data_, elements_}; }

 private:
  DeviceMemory* memory_ = nullptr;
  float* data_ = nullptr;
  std::size_t elements_ = 0;
};

/// Reads "4096", "48MiB", "1GiB", "512kB": a whole or decimal number, then nothing, B, a binary
/// (KiB MiB GiB TiB) or a decimal (kB MB GB TB) unit. Empty on anything else, on 0 and on overflow.
[[nodiscard]] std::optional<std::uint64_t> parse_bytes(std::string_view text);

/// "47.10 MiB": two decimals and the largest binary unit that keeps the number at least 1.
[[nodiscard]] std::string format_bytes(std::uint64_t bytes);

}  // namespace minitrain
