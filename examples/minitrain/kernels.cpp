// SPDX-License-Identifier: MIT
#include "kernels.hpp"

#include <cmath>

#include "vector_clones.hpp"

namespace minitrain {

MINITRAIN_VECTOR_CLONES
void add_bias(std::span<float> matrix, std::span<const float> bias) {
  const std::size_t columns = bias.size();
  for (std::size_t first = 0; first < matrix.size(); first += columns) {
    float* row = matrix.data() + first;
    const float* values = bias.data();
    for (std::size_t j = 0; j < columns; ++j) row[j] += values[j];
  }
}

MINITRAIN_VECTOR_CLONES
void accumulate_column_sums(std::span<const float> matrix, std::span<float> bias_gradient) {
  const std::size_t columns = bias_gradient.size();
  for (std::size_t first = 0; first < matrix.size(); first += columns) {
    const float* row = matrix.data() + first;
    float* sums = bias_gradient.data();
    for (std::size_t j = 0; j < columns; ++j) sums[j] += row[j];
  }
}

MINITRAIN_VECTOR_CLONES
void activate(std::span<const float> z, std::span<float> out) {
  const float* from = z.data();
  float* to = out.data();
  for (std::size_t i = 0; i < z.size(); ++i) {
    const float gate = 0.5F + 0.5F * from[i] / (1.0F + std::fabs(from[i]));
    to[i] = from[i] * gate;
  }
}

MINITRAIN_VECTOR_CLONES
void activate_backward(std::span<const float> z, std::span<float> gradient) {
  const float* from = z.data();
  float* to = gradient.data();
  for (std::size_t i = 0; i < z.size(); ++i) {
    const float inverse = 1.0F / (1.0F + std::fabs(from[i]));
    const float gate = 0.5F + 0.5F * from[i] * inverse;
    to[i] *= gate + 0.5F * from[i] * inverse * inverse;
  }
}

MINITRAIN_VECTOR_CLONES
void add(std::span<const float> value, std::span<float> out) {
  const float* from = value.data();
  float* to = out.data();
  for (std::size_t i = 0; i < value.size(); ++i) to[i] += from[i];
}

MINITRAIN_VECTOR_CLONES
void scale(float factor, std::span<float> out) {
  float* to = out.data();
  for (std::size_t i = 0; i < out.size(); ++i) to[i] *= factor;
}

double squared_error(std::span<const float> prediction, std::span<const float> target) {
  double sum = 0;
  for (std::size_t i = 0; i < prediction.size(); ++i) {
    const double difference = static_cast<double>(prediction[i]) - target[i];
    sum += difference * difference;
  }
  return sum;
}

MINITRAIN_VECTOR_CLONES
void squared_error_backward(float factor, std::span<const float> target,
                            std::span<float> prediction) {
  const float* from = target.data();
  float* to = prediction.data();
  for (std::size_t i = 0; i < target.size(); ++i) to[i] = factor * (to[i] - from[i]);
}

MINITRAIN_VECTOR_CLONES
void adam_update(const AdamStep& step, std::span<const float> gradient, std::span<float> parameter,
                 std::span<float> first, std::span<float> second) {
  const AdamStep s = step;
  // Four arrays at once are too many for the compiler to check for overlap at run time.
  const float* __restrict g = gradient.data();
  float* __restrict p = parameter.data();
  float* __restrict m = first.data();
  float* __restrict v = second.data();
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const float slope = g[i] + s.l2 * p[i];
    m[i] = s.beta1 * m[i] + (1.0F - s.beta1) * slope;
    v[i] = s.beta2 * v[i] + (1.0F - s.beta2) * slope * slope;
    const float kept = p[i] - s.decay * p[i];
    p[i] = kept - s.lr * m[i] / (std::sqrt(v[i]) * s.second_scale + s.eps);
  }
}

}  // namespace minitrain
