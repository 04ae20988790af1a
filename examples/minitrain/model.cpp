// SPDX-License-Identifier: MIT
#include "model.hpp"

#include <cmath>
#include <utility>

#include "chance.hpp"

namespace minitrain {
namespace {

std::size_t linear_elements(std::size_t in, std::size_t out) { return in * out + out; }

/// A layer's parameters: W (in x out, row-major), then b (out).
std::span<const float> bias_of(const float* weights, std::size_t in, std::size_t out) {
  return {weights + in * out, out};
}

}  // namespace

std::vector<std::size_t> unit_elements(const ModelShape& shape) {
  std::vector<std::size_t> elements;
  elements.push_back(linear_elements(shape.input, shape.hidden));
  for (std::size_t layer = 0; layer < shape.layers; ++layer) {
    elements.push_back(linear_elements(shape.hidden, shape.inner()) +
                       linear_elements(shape.inner(), shape.hidden));
  }
  elements.push_back(linear_elements(shape.hidden, shape.input));
  return elements;
}

float initial_value(const ModelShape& shape, std::uint64_t seed, std::size_t unit,
                    std::size_t index) {
  // Uniform with variance 1 / fan-in; what is added to the residual stream is smaller the more
  // blocks there are, so that its variance does not grow with depth.
  const bool is_output = unit == shape.layers + 1;
  std::size_t in = unit == 0 ? shape.input : shape.hidden;
  std::size_t out = unit == 0 ? shape.hidden : (is_output ? shape.input : shape.inner());
  double gain = is_output ? 0.1 : 1.0;
  std::size_t place = index;
  const std::size_t first_linear = linear_elements(in, out);
  if (unit != 0 && !is_output && index >= first_linear) {
    place -= first_linear;
    in = shape.inner();
    out = shape.hidden;
    gain = 1.0 / std::sqrt(2.0 * static_cast<double>(shape.layers));
  }
  if (place >= in * out) return 0.0F;  // a bias
  constexpr std::uint64_t parameters_stream = 0x9A7A3ULL;
  const std::uint64_t key = random_bits(random_bits(seed, parameters_stream), unit);
  const double bound = gain * std::sqrt(3.0 / static_cast<double>(in));
  return static_cast<float>(bound) * random_symmetric(key, index);
}

ResidualMlp::ResidualMlp(const ModelShape& shape, Checkpointing checkpointing, DeviceMemory& memory)
    : shape_{shape},
      checkpointing_{checkpointing},
      memory_{memory},
      device_{memory.device()},
      product_{device_.make_product(memory)} {}

void ResidualMlp::linear_forward(const float* input, GemmShape shape, const float* weights,
                                 float* output, Accumulate accumulate) {
  product_->multiply(shape, MatrixView::row_major(input, shape.depth),
                     MatrixView::row_major(weights, shape.columns), output, accumulate);
  device_.add_bias({output, shape.rows * shape.columns},
                   bias_of(weights, shape.depth, shape.columns));
}

void ResidualMlp::linear_backward(const float* input, std::span<const float> output_gradient,
                                  GemmShape shape, float* weight_gradients) {
  // dW (in x out) += input^T (in x rows) dY (rows x out)
  product_->multiply({shape.depth, shape.columns, shape.rows},
                     MatrixView::row_major(input, shape.depth).transposed(),
                     MatrixView::row_major(output_gradient.data(), shape.columns), weight_gradients,
                     Accumulate::yes);
  device_.accumulate_column_sums(output_gradient,
                                 {weight_gradients + shape.depth * shape.columns, shape.columns});
}

void ResidualMlp::forward_inner(const float* weights, BlockTrace& trace) {
  trace.inner = Tensor(memory_, rows_ * shape_.inner());
  linear_forward(trace.input.data(), {rows_, shape_.inner(), shape_.hidden}, weights,
                 trace.inner.data(), Accumulate::no);
  trace.activated = Tensor(memory_, rows_ * shape_.inner());
  device_.activate(trace.inner.span(), trace.activated.span());
}

double ResidualMlp::forward(std::span<const float> inputs, std::span<const float> targets,
                            std::size_t rows, ParameterSource& parameters) {
  rows_ = rows;
  inputs_ = inputs;
  targets_ = targets;
  blocks_.clear();
  const std::size_t hidden = shape_.hidden;
  Tensor stream(memory_, rows * hidden);
  linear_forward(inputs.data(), {rows, hidden, shape_.input}, parameters.acquire(0), stream.data(),
                 Accumulate::no);
  parameters.release(0);
  for (std::size_t layer = 0; layer < shape_.layers; ++layer) {
    const float* first = parameters.acquire(layer + 1);
    const float* second = first + linear_elements(hidden, shape_.inner());
    BlockTrace trace;
    trace.input = std::move(stream);
    forward_inner(first, trace);
    stream = Tensor(memory_, rows * hidden);
    device_.copy(trace.input.span(), stream.data());
    linear_forward(trace.activated.data(), {rows, hidden, shape_.inner()}, second, stream.data(),
                   Accumulate::yes);
    parameters.release(layer + 1);
    if (checkpointing_ == Checkpointing::on) {
      trace.inner.reset();
      trace.activated.reset();
    }
    blocks_.push_back(std::move(trace));
  }
  last_hidden_ = std::move(stream);
  outputs_ = Tensor(memory_, rows * shape_.input);
  const std::size_t output_unit = shape_.layers + 1;
  linear_forward(last_hidden_.data(), {rows, shape_.input, hidden}, parameters.acquire(output_unit),
                 outputs_.data(), Accumulate::no);
  parameters.release(output_unit);
  return device_.squared_error(outputs_.span(), targets_);
}

void ResidualMlp::backward(float loss_factor, ParameterSource& parameters,
                           GradientSink& gradients) {
  device_.squared_error_backward(2.0F * loss_factor, targets_, outputs_.span());
  const std::size_t output_unit = shape_.layers + 1;
  const GemmShape output_shape = {rows_, shape_.input, shape_.hidden};
  linear_backward(last_hidden_.data(), outputs_.span(), output_shape, gradients.begin(output_unit));
  gradients.end(output_unit);
  last_hidden_.reset();
  Tensor gradient(memory_, rows_ * shape_.hidden);
  const float* output_weights = parameters.acquire(output_unit);
  product_->multiply({rows_, shape_.hidden, shape_.input},
                     MatrixView::row_major(outputs_.data(), shape_.input),
                     MatrixView::row_major(output_weights, shape_.input).transposed(),
                     gradient.data(), Accumulate::no);
  parameters.release(output_unit);
  outputs_.reset();
  for (std::size_t layer = shape_.layers; layer-- > 0;) {
    backward_block(layer, gradient, parameters, gradients);
    blocks_.pop_back();
  }
  linear_backward(inputs_.data(), gradient.span(), {rows_, shape_.hidden, shape_.input},
                  gradients.begin(0));
  gradients.end(0);
}

void ResidualMlp::backward_block(std::size_t layer, Tensor& gradient, ParameterSource& parameters,
                                 GradientSink& gradients) {
  BlockTrace& trace = blocks_[layer];
  const std::size_t unit = layer + 1;
  const std::size_t hidden = shape_.hidden;
  const std::size_t inner = shape_.inner();
  const std::size_t second = linear_elements(hidden, inner);
  const float* weights = parameters.acquire(unit);
  if (checkpointing_ == Checkpointing::on) forward_inner(weights, trace);
  float* weight_gradients = gradients.begin(unit);
  linear_backward(trace.activated.data(), gradient.span(), {rows_, hidden, inner},
                  weight_gradients + second);
  // The gradient of the activated values takes the place of the values themselves.
  product_->multiply({rows_, inner, hidden}, MatrixView::row_major(gradient.data(), hidden),
                     MatrixView::row_major(weights + second, hidden).transposed(),
                     trace.activated.data(), Accumulate::no);
  device_.activate_backward(trace.inner.span(), trace.activated.span());
  linear_backward(trace.input.data(), trace.activated.span(), {rows_, inner, hidden},
                  weight_gradients);
  gradients.end(unit);
  // The residual connection passes the gradient on as it is; the block's own share is added.
  product_->multiply({rows_, hidden, inner}, MatrixView::row_major(trace.activated.data(), inner),
                     MatrixView::row_major(weights, inner).transposed(), gradient.data(),
                     Accumulate::yes);
  parameters.release(unit);
}

}  // namespace minitrain
