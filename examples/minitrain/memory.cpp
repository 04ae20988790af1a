// SPDX-License-Identifier: MIT
#include "memory.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/format.h>

namespace minitrain {
namespace {

std::string out_of_memory_text(std::uint64_t wanted_bytes, std::uint64_t allocated_bytes,
                               std::optional<std::uint64_t> limit_bytes) {
  const std::string limit = limit_bytes ? format_bytes(*limit_bytes) : "none";
  return fmt::format("device out of memory. Tried to allocate {} (limit {}; {} already allocated)",
                     format_bytes(wanted_bytes), limit, format_bytes(allocated_bytes));
}

std::optional<double> bytes_in_unit(std::string_view unit) {
  struct Unit {
    std::string_view name;
    double bytes;
  };
  constexpr std::array<Unit, 10> units = {{{"", 1},
                                           {"B", 1},
                                           {"KiB", 1024.0},
                                           {"MiB", 1024.0 * 1024},
                                           {"GiB", 1024.0 * 1024 * 1024},
                                           {"TiB", 1024.0 * 1024 * 1024 * 1024},
                                           {"kB", 1e3},
                                           {"MB", 1e6},
                                           {"GB", 1e9},
                                           {"TB", 1e12}}};
  for (const Unit& known : units) {
    if (known.name == unit) return known.bytes;
  }
  return std::nullopt;
}

}  // namespace

float* DeviceMemory::allocate(std::uint64_t bytes) {
  if (limit_bytes_ && bytes > *limit_bytes_ - std::min(allocated_bytes_, *limit_bytes_)) {
    throw OutOfMemoryError(out_of_memory_text(bytes, allocated_bytes_, limit_bytes_));
  }
  float* data = device_.allocate(bytes);
  if (data == nullptr) {
    throw OutOfMemoryError(out_of_memory_text(bytes, allocated_bytes_, limit_bytes_));
  }
  allocated_bytes_ += bytes;
  peak_bytes_ = std::max(peak_bytes_, allocated_bytes_);
  return data;
}

void DeviceMemory::release(float* data, std::uint64_t bytes) noexcept {
  device_.release(data);
  allocated_bytes_ -= bytes;
}

Tensor::Tensor(DeviceMemory& memory, std::size_t elements, Fill fill)
    : memory_{&memory}, elements_{elements} {
  if (elements_ == 0) return;
  data_ = memory.allocate(elements_ * sizeof(float));
  if (fill == Fill::zero) zero();
}

Tensor::Tensor(Tensor&& other) noexcept
    : memory_{std::exchange(other.memory_, nullptr)},
      data_{std::exchange(other.data_, nullptr)},
      elements_{std::exchange(other.elements_, 0)} {}

Tensor& Tensor::operator=(Tensor&& other) noexcept {
  if (this != &other) {
    reset();
    memory_ = std::exchange(other.memory_, nullptr);
    data_ = std::exchange(other.data_, nullptr);
    elements_ = std::exchange(other.elements_, 0);
  }
  return *this;
}

void Tensor::reset() noexcept {
  if (data_ != nullptr) memory_->release(data_, elements_ * sizeof(float));
  data_ = nullptr;
  elements_ = 0;
}

void Tensor::zero() {
  if (data_ != nullptr) memory_->device().zero(span());
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc{}) return std::nullopt;
  const auto unit = bytes_in_unit(text.substr(static_cast<std::size_t>(end - text.data())));
  if (!unit) return std::nullopt;
  const double bytes = number * *unit;
  constexpr double bytes_max = 9.0e18;  // below 2^63, so that the conversion is exact or refused
  if (!(bytes >= 1.0) || bytes > bytes_max) return std::nullopt;
  return static_cast<std::uint64_t>(bytes);
}

std::string format_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 5> units = {"B", "KiB", "MiB", "GiB", "TiB"};
  auto number = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (number >= 1024.0 && unit + 1 < units.size()) {
    number /= 1024.0;
    ++unit;
  }
  return fmt::format("{:.2f} {}", number, units[unit]);
}

}  // namespace minitrain
