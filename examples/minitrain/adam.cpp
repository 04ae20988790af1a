// SPDX-License-Identifier: MIT
#include "adam.hpp"

#include <cmath>

#include "kernels.hpp"

namespace minitrain {

Adam::Adam(const AdamConfig& config, std::size_t owned_elements, DeviceMemory& memory)
    : config_{config},
      device_{memory.device()},
      first_moments_{memory, owned_elements, Fill::zero},
      second_moments_{memory, owned_elements, Fill::zero} {}

void Adam::update(std::size_t first, std::span<const float> gradients,
                  std::span<float> parameters) {
  const auto step = static_cast<double>(step_);
  const double first_correction = 1.0 - std::pow(config_.beta1, step);
  const double second_correction = 1.0 - std::pow(config_.beta2, step);
  const double decay = config_.decoupled_decay ? config_.lr * config_.weight_decay : 0.0;
  const double l2 = config_.decoupled_decay ? 0.0 : config_.weight_decay;
  const AdamStep numbers = {.lr = static_cast<float>(config_.lr / first_correction),
                            .beta1 = static_cast<float>(config_.beta1),
                            .beta2 = static_cast<float>(config_.beta2),
                            .eps = static_cast<float>(config_.eps),
                            .second_scale = static_cast<float>(1.0 / std::sqrt(second_correction)),
                            .decay = static_cast<float>(decay),
                            .l2 = static_cast<float>(l2)};
  device_.adam_update(numbers, gradients, parameters,
                      first_moments_.span().subspan(first, gradients.size()),
                      second_moments_.span().subspan(first, gradients.size()));
}

}  // namespace minitrain
