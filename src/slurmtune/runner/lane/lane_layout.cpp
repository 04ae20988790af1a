// SPDX-License-Identifier: MIT
#include "slurmtune/runner/lane/lane_layout.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <string_view>

#include <fmt/format.h>

namespace slurmtune {

namespace {

constexpr std::array device_variables{"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"};

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    parts.emplace_back(part);
  }
  return parts;
}

}  // namespace

std::vector<LanePlace> lay_out_lanes(int lanes, int nodes_per_trial, int nodes) {
  std::vector<LanePlace> places;
  if (nodes_per_trial == 1 && lanes > nodes) {
    for (int lane = 0; lane < lanes; ++lane) {
      const int node = lane % nodes;
      const int shares = (lanes - node + nodes - 1) / nodes;
      places.push_back({{node}, lane / nodes, shares});
    }
    return places;
  }
  const int size = std::min(nodes_per_trial, nodes);
  for (int lane = 0; lane < lanes && (lane + 1) * size <= nodes; ++lane) {
    LanePlace place;
    for (int i = 0; i < size; ++i) place.ranks.push_back(lane * size + i);
    places.push_back(place);
  }
  return places;
}

std::vector<std::string> part_of(const std::vector<std::string>& list, int share, int shares) {
  const auto size = list.size();
  const auto at = [&](int part) {
    return static_cast<std::ptrdiff_t>(size * static_cast<std::size_t>(part) /
                                       static_cast<std::size_t>(shares));
  };
  return {list.begin() + at(share), list.begin() + at(share + 1)};
}

std::vector<std::string> visible_devices(const Environment& environment) {
  for (const char* name : device_variables) {
    if (const auto devices = variable(environment, name)) return split_at_commas(*devices);
  }
  std::vector<std::string> devices;
  const int count = std::atoi(variable(environment, "SLURM_GPUS_ON_NODE").value_or("0").c_str());
  for (int device = 0; device < count; ++device) devices.push_back(std::to_string(device));
  return devices;
}

void limit_devices(Environment& environment, const LanePlace& place) {
  const std::vector<std::string> devices = visible_devices(environment);
  if (place.shares == 1 || devices.empty()) return;
  const auto mine = fmt::format("{}", fmt::join(part_of(devices, place.share, place.shares), ","));
  bool is_set = false;
  for (const char* name : device_variables) {
    if (!environment.contains(name)) continue;
    environment[name] = mine;
    is_set = true;
  }
  if (!is_set) environment[device_variables.front()] = mine;
}

}  // namespace slurmtune
