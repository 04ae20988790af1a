// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace minitrain {

/// The shape of one sample: a sequence of points, each a vector of `input` features with a
/// target of the same width.
struct SampleShape {
  std::size_t sequence;
  std::size_t input;
};

/// Writes sample `index` of the endless data set `seed`: inputs uniform in [-1, 1), targets
/// y_j = x_j^2 - x_{j+1} x_{j+2} (indices modulo the width), which a linear model cannot fit.
/// Both spans hold sequence x input values. The sample depends on seed and index alone, so every
/// split of a batch over ranks, micro-batches and accumulation sees the same samples.
void make_sample(std::uint64_t seed, std::uint64_t index, SampleShape shape,
                 std::span<float> inputs, std::span<float> targets);

}  // namespace minitrain
