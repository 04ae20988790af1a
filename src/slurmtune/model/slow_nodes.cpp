// SPDX-License-Identifier: MIT
#include "slurmtune/model/slow_nodes.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <string_view>

#include <fmt/format.h>

namespace slurmtune {

namespace {

constexpr double below_median_min = 0.10;
constexpr double robust_z_max = -3.5;
/// The third quartile of the standard normal distribution: makes MAD an estimate of sigma.
constexpr double mad_to_sigma = 0.6745;

struct Figure {
  std::string_view name;
  std::optional<double> NodeFigures::*value;
};
constexpr std::array<Figure, 7> figures{{
    {"memory_bytes_per_s", &NodeFigures::memory_bytes_per_s},
    {"fp32_flops", &NodeFigures::fp32_flops},
    {"fp64_flops", &NodeFigures::fp64_flops},
    {"gpu_memory_bytes_per_s", &NodeFigures::gpu_memory_bytes_per_s},
    {"gpu_fp32_flops", &NodeFigures::gpu_fp32_flops},
    {"gpu_fp16_flops", &NodeFigures::gpu_fp16_flops},
    {"gpu_bf16_flops", &NodeFigures::gpu_bf16_flops},
}};

/// Of at least one value.
double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

void judge(const Figure& figure, std::vector<NodeRecord>& nodes) {
  std::vector<double> values;
  for (const NodeRecord& node : nodes) {
    if (const auto& value = node.figures.*figure.value) values.push_back(*value);
  }
  if (values.size() < peers_min) return;
  const double middle = median(values);
  for (double& value : values) value = std::fabs(value - middle);
  const double mad = median(values);
  for (NodeRecord& node : nodes) {
    const auto& value = node.figures.*figure.value;
    if (!value || *value > (1.0 - below_median_min) * middle) continue;
    if (mad > 0.0 && mad_to_sigma * (*value - middle) / mad > robust_z_max) continue;
    node.slow += fmt::format("{}{} {:.3g}, {:.0f} % below the median of {:.3g}",
                             node.slow.empty() ? "" : "; ", figure.name, *value,
                             100.0 * (1.0 - *value / middle), middle);
  }
}

}  // namespace

void judge_nodes(std::vector<NodeRecord>& nodes) {
  for (NodeRecord& node : nodes) node.slow.clear();
  for (const Figure& figure : figures) judge(figure, nodes);
}

std::vector<std::string> slow_nodes(const std::vector<NodeRecord>& nodes) {
  std::vector<std::string> names;
  for (const NodeRecord& node : nodes) {
    if (!node.slow.empty()) names.push_back(node.facts.node);
  }
  return names;
}

}  // namespace slurmtune
