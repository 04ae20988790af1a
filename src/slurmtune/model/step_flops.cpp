// SPDX-License-Identifier: MIT
#include "slurmtune/model/step_flops.hpp"

#include <array>
#include <cmath>

namespace slurmtune {

namespace {

constexpr double tera = 1e12;

/// Words of a GPU's name, and its peak. The first row whose words are all in the name counts.
struct PeakRow {
  std::string_view model;
  std::string_view variant;
  double tflops;
};

// Data sheets, dense: NVIDIA Blackwell (2024), H200 (2023), H100 (2022), A100 (2020), V100 (2017),
// T4, A10, A30, A40, L4, L40S, RTX 3090, RTX 4090 (white papers GA102, AD102); AMD MI355X, MI325X,
// MI300X, MI300A, MI250X, MI210, MI100. An MI250X shows as two devices, each half of it.
constexpr std::array<PeakRow, 26> peaks{
    {{"GB300", "", 2500.0},  {"B300", "", 2250.0},         {"GB200", "", 2500.0},
     {"B200", "", 2250.0},   {"GH200", "", 989.4},         {"H200", "NVL", 835.5},
     {"H200", "", 989.4},    {"H100", "PCIe", 756.4},      {"H100", "NVL", 835.5},
     {"H100", "", 989.4},    {"H800", "", 989.4},          {"H20", "", 148.0},
     {"A100", "", 311.9},    {"A800", "", 311.9},          {"V100", "", 125.0},
     {"L40S", "", 362.1},    {"L4", "NVIDIA L4", 121.0},   {"A40", "", 149.7},
     {"A30", "", 165.0},     {"A10", "NVIDIA A10", 125.0}, {"T4", "", 65.0},
     {"MI355X", "", 2516.6}, {"MI325X", "", 1307.4},       {"MI300X", "", 1307.4},
     {"MI300A", "", 980.6},  {"MI250X", "", 191.5}}};

bool is_word_in(std::string_view word, std::string_view text) {
  const auto is_part = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
  };
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const std::size_t end = at + word.size();
    const bool begins = at == 0 || !is_part(text[at - 1]);
    if (begins && (end == text.size() || !is_part(text[end]))) return true;
  }
  return false;
}

}  // namespace

std::optional<double> flops_per_token(const ModelShape& shape) {
  if (!shape.params || !(*shape.params > 0)) return std::nullopt;
  constexpr double per_parameter = 6.0;
  constexpr double per_attention = 12.0;
  double flops = per_parameter * *shape.params;
  if (shape.layers && shape.hidden && shape.sequence_length) {
    flops += per_attention * *shape.layers * *shape.hidden * *shape.sequence_length;
  }
  return flops;
}

std::optional<double> achieved_flops_per_gpu(const ModelShape& shape, const MeasuredStep& step) {
  const auto per_token = flops_per_token(shape);
  if (!per_token || !shape.sequence_length) return std::nullopt;
  const double tokens = step.samples * *shape.sequence_length;
  const double flops = tokens * *per_token / (step.step_s * step.gpus);
  const bool possible = step.step_s > 0 && step.gpus > 0 && flops > 0 && std::isfinite(flops);
  return possible ? std::optional(flops) : std::nullopt;
}

std::optional<double> gpu_peak_flops(std::string_view gpu) {
  for (const PeakRow& row : peaks) {
    if (is_word_in(row.model, gpu) && (row.variant.empty() || is_word_in(row.variant, gpu))) {
      return row.tflops * tera;
    }
  }
  return std::nullopt;
}

}  // namespace slurmtune
