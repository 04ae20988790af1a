// SPDX-License-Identifier: MIT
#include "slurmtune/model/memory/estimate.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace slurmtune {

namespace {

/// The largest micro-batch of a line through measured peaks.
std::int64_t largest_on(const AffineFit& line, double room, std::int64_t most) {
  if (line.at(1.0) > room) return 0;
  if (!(line.slope > 0.0)) return most;
  const double largest = std::floor((room - line.intercept) / line.slope);
  return std::clamp(static_cast<std::int64_t>(std::min(largest, 1e15)), std::int64_t{1}, most);
}

EstimateRow row_of(const EstimateRequest& request, int zero_stage, Placement optimizer_states,
                   Placement parameters) {
  MemoryQuestion question{request.shape, request.setup, request.layout, zero_stage};
  question.setup.optimizer_states = optimizer_states;
  question.setup.parameters = parameters;
  EstimateRow row;
  row.zero_stage = zero_stage;
  row.optimizer_states = optimizer_states;
  row.parameters = parameters;
  const auto wanted = static_cast<double>(request.micro_batch);
  row.at = peak_memory(question, wanted);
  row.probability = fit_probability(row.at, request.gpu_bytes);
  row.largest = largest_micro_batch(question, request.gpu_bytes, request.micro_batch_cap);

  const auto& points = request.measured.at(static_cast<std::size_t>(zero_stage));
  const bool as_measured =
      optimizer_states == request.setup.optimizer_states && parameters == request.setup.parameters;
  if (!points.empty() && as_measured) {
    const double room = request.gpu_bytes - row.at.overhead;
    const auto line = calibrated(memory_prior(question, 1.0, std::max(2.0, wanted)), points, room);
    row.calibrated = line->at(wanted) + row.at.overhead;
    const double deviation = std::hypot(0.03 * request.gpu_bytes, line->residual);
    row.probability = normal_cdf((request.gpu_bytes - *row.calibrated) / deviation);
    row.largest = largest_on(*line, room, request.micro_batch_cap);
  }
  row.host_is_short = request.host_bytes && row.at.host_per_node > *request.host_bytes;
  return row;
}

}  // namespace

std::vector<EstimateRow> estimate_rows(const EstimateRequest& request) {
  const TrainingSetup& setup = request.setup;
  std::vector<EstimateRow> rows;
  rows.reserve(7);
  for (int stage = 0; stage < 4; ++stage) {
    // ZeRO-Offload begins at stage 1, parameters follow at stage 3.
    rows.push_back(row_of(request, stage, stage > 0 ? setup.optimizer_states : Placement::gpu,
                          stage == 3 ? setup.parameters : Placement::gpu));
  }
  if (setup.optimizer_states != Placement::gpu || setup.parameters != Placement::gpu) return rows;
  rows.push_back(row_of(request, 2, Placement::cpu, Placement::gpu));
  rows.push_back(row_of(request, 3, Placement::cpu, Placement::gpu));
  rows.push_back(row_of(request, 3, Placement::cpu, Placement::cpu));
  return rows;
}

const EstimateRow* recommended(const std::vector<EstimateRow>& rows, std::int64_t micro_batch) {
  const auto found = std::find_if(rows.begin(), rows.end(), [&](const EstimateRow& row) {
    return row.largest >= micro_batch && !row.host_is_short;
  });
  return found == rows.end() ? nullptr : &*found;
}

std::string name_of(const EstimateRow& row) {
  const auto place = [](Placement placement) {
    return placement == Placement::nvme ? "on NVMe" : "on the host";
  };
  std::string name = fmt::format("ZeRO {}", row.zero_stage);
  if (row.optimizer_states != Placement::gpu) {
    name += fmt::format(", optimizer states {}", place(row.optimizer_states));
  }
  if (row.parameters != Placement::gpu) {
    name += fmt::format(", parameters {}", place(row.parameters));
  }
  return name;
}

}  // namespace slurmtune
