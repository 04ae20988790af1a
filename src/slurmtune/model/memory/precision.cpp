// SPDX-License-Identifier: MIT
#include "slurmtune/model/memory/precision.hpp"

#include <array>
#include <utility>

namespace slurmtune {

namespace {

constexpr std::array<std::pair<std::string_view, Precision>, 4> names{
    {{"fp32", Precision::fp32},
     {"fp16", Precision::fp16},
     {"bf16", Precision::bf16},
     {"bf16-only", Precision::bf16_only}}};

}  // namespace

ParameterBytes parameter_bytes(Precision precision, GradientType gradients, int zero_stage) {
  constexpr double half = 2.0;
  constexpr double single = 4.0;
  if (precision == Precision::fp32) return {single, single, 0.0, 0.0};
  ParameterBytes bytes{half, half, precision == Precision::bf16_only ? 0.0 : single, 0.0};
  const bool widened =
      gradients == GradientType::fp32 ||
      (gradients == GradientType::automatic && precision == Precision::bf16 && zero_stage == 0);
  if (widened) {
    bytes.gradients = single;
    bytes.transient = half;
  }
  return bytes;
}

std::optional<Precision> precision_named(std::string_view word) {
  for (const auto& [name, precision] : names) {
    if (name == word) return precision;
  }
  return std::nullopt;
}

std::string_view name_of(Precision precision) {
  for (const auto& [name, value] : names) {
    if (value == precision) return name;
  }
  return "";
}

}  // namespace slurmtune
