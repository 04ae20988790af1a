// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "slurmtune/model/memory/peak.hpp"

namespace slurmtune {

/// What an estimate is made for.
struct EstimateRequest {
  TransformerShape shape;
  TrainingSetup setup;
  ParallelLayout layout;
  double gpu_bytes = 0.0;            ///< of one rank
  std::optional<double> host_bytes;  ///< of one node
  std::int64_t micro_batch = 1;      ///< for which memory is told
  std::int64_t micro_batch_cap = 1024;
  /// Measured peaks by ZeRO stage: bytes against micro-batch.
  std::array<std::vector<Point>, 4> measured;
};

/// One way to lay out a training's states.
struct EstimateRow {
  int zero_stage = 0;
  Placement optimizer_states = Placement::gpu;
  Placement parameters = Placement::gpu;
  MemoryBreakdown at;                ///< at the wanted micro-batch, as predicted
  std::optional<double> calibrated;  ///< bytes there by the stage's measured peaks
  double probability = 0.0;          ///< that the wanted micro-batch fits
  std::int64_t largest = 0;          ///< micro-batch that fits; 0 = none
  bool host_is_short = false;
};

/// Stages 0 to 3 with what the request offloads; if it offloads nothing, also stage 2 with the
/// optimizer's states on the host, and stage 3 with these, and with parameters too. A measured peak
/// replaces the prediction of its stage (`calibrated`); it is the framework's own figure, to which
/// the overhead is added.
[[nodiscard]] std::vector<EstimateRow> estimate_rows(const EstimateRequest& request);

/// The row to begin with: the first whose wanted micro-batch fits; rows are in the order of what
/// they cost in time. Null if there is none.
[[nodiscard]] const EstimateRow* recommended(const std::vector<EstimateRow>& rows,
                                             std::int64_t micro_batch);

/// `ZeRO 2, optimizer states on the host`.
[[nodiscard]] std::string name_of(const EstimateRow& row);

}  // namespace slurmtune
