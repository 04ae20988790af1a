// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "adam.hpp"
#include "ds_config.hpp"
#include "fault.hpp"
#include "gradients.hpp"
#include "layout.hpp"
#include "memory.hpp"
#include "model.hpp"
#include "options.hpp"
#include "parameters.hpp"
#include "ranks.hpp"
#include "report.hpp"

namespace minitrain {

/// One rank of a data-parallel training run. Everything here may throw OutOfMemoryError.
class Trainer {
 public:
  Trainer(const Options& options, const DsConfig& config, const Ranks& ranks, DeviceMemory& memory);

  [[nodiscard]] std::size_t parameters() const { return layout_.elements(); }
  /// One optimizer step, `step` counting from 1. Collective; the outcome is complete on rank 0.
  [[nodiscard]] StepOutcome train_step(std::uint64_t step);
  /// What one forward pass leaves allocated for the backward pass. Collective.
  [[nodiscard]] std::uint64_t measure_activation_bytes();

 private:
  void load_micro_batch(std::uint64_t step, std::size_t micro_batch, Spoil spoil);
  void update_parameters();
  [[nodiscard]] StepOutcome gather_outcome(std::uint64_t step, double step_s, double squared_error);
  [[nodiscard]] std::size_t rows() const { return config_.batch.micro * options_.sequence; }

  Options options_;
  DsConfig config_;
  Ranks ranks_;
  DeviceMemory& memory_;
  ShardLayout layout_;
  std::unique_ptr<ParameterStore> parameters_;
  std::unique_ptr<GradientStore> gradients_;
  Adam adam_;
  ResidualMlp model_;
  Tensor inputs_;
  Tensor targets_;
  std::vector<float> staged_;  ///< inputs and targets, where the host cannot write tensors
};

}  // namespace minitrain
