// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "memory.hpp"

namespace minitrain {

/// DeepSpeed's "optimizer" section; the defaults are its own.
struct AdamConfig {
  double lr = 1e-3;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double eps = 1e-8;
  double weight_decay = 0.0;
  /// Decoupled weight decay. DeepSpeed's "Adam" has it on, too, unless adam_w_mode is false.
  bool decoupled_decay = true;
};

/// Adam over the elements that this rank owns: two moments for each.
/// Source: Kingma and Ba, "Adam", ICLR 2015; Loshchilov and Hutter, "Decoupled Weight Decay
/// Regularization", ICLR 2019.
class Adam {
 public:
  Adam(const AdamConfig& config, std::size_t owned_elements, DeviceMemory& memory);

  /// Begins optimizer step 1, 2, ...
  void begin_step() { ++step_; }
  /// Updates the parameters whose moments start at element `first`.
  void update(std::size_t first, std::span<const float> gradients, std::span<float> parameters);

 private:
  AdamConfig config_;
  Device& device_;
  std::uint64_t step_ = 0;
  Tensor first_moments_;
  Tensor second_moments_;
};

}  // namespace minitrain
