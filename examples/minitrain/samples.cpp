// SPDX-License-Identifier: MIT
#include "samples.hpp"

#include "chance.hpp"

namespace minitrain {

void make_sample(std::uint64_t seed, std::uint64_t index, SampleShape shape,
                 std::span<float> inputs, std::span<float> targets) {
  constexpr std::uint64_t samples_stream = 0x5A3D1E5ULL;  // apart from the initial parameters
  const std::uint64_t key = random_bits(random_bits(seed, samples_stream), index);
  for (std::size_t i = 0; i < inputs.size(); ++i) inputs[i] = random_symmetric(key, i);
  const std::size_t width = shape.input;
  for (std::size_t point = 0; point < shape.sequence; ++point) {
    const float* x = inputs.data() + point * width;
    float* y = targets.data() + point * width;
    for (std::size_t j = 0; j < width; ++j) {
      y[j] = x[j] * x[j] - x[(j + 1) % width] * x[(j + 2) % width];
    }
  }
}

}  // namespace minitrain
