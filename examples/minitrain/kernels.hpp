// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>

namespace minitrain {

/// Adds `bias` (one value a column) to every row of a row-major matrix.
void add_bias(std::span<float> matrix, std::span<const float> bias);

/// bias_gradient[j] += sum over the rows of column j.
void accumulate_column_sums(std::span<const float> matrix, std::span<float> bias_gradient);

/// out = z s(z), with the rational sigmoid s(z) = (1 + z / (1 + |z|)) / 2: smooth like SiLU, but
/// without an exponential, which would cost more than the matrix products of a small model.
void activate(std::span<const float> z, std::span<float> out);

/// gradient *= d activate(z) / dz, element by element.
void activate_backward(std::span<const float> z, std::span<float> gradient);

/// out += value, element by element.
void add(std::span<const float> value, std::span<float> out);

/// out *= factor.
void scale(float factor, std::span<float> out);

/// Sum of squared differences, in double: the order of samples must not show in the loss.
[[nodiscard]] double squared_error(std::span<const float> prediction,
                                   std::span<const float> target);

/// prediction := factor (prediction - target), the gradient of the squared error.
void squared_error_backward(float factor, std::span<const float> target,
                            std::span<float> prediction);

/// One Adam or AdamW step as the vector unit sees it: bias corrections already folded in.
struct AdamStep {
  float lr;  ///< learning rate divided by the first moment's bias correction
  float beta1;
  float beta2;
  float eps;
  float second_scale;  ///< 1 / sqrt of the second moment's bias correction
  float decay;         ///< AdamW: parameters are multiplied by 1 - decay first
  float l2;            ///< Adam: l2 times the parameter joins the gradient
};

void adam_update(const AdamStep& step, std::span<const float> gradient, std::span<float> parameter,
                 std::span<float> first, std::span<float> second);

}  // namespace minitrain
