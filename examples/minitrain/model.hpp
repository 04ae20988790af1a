// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "device.hpp"
#include "memory.hpp"

namespace minitrain {

/// Lends a layer's parameters to the model for as long as it computes with them.
class ParameterSource {
 public:
  virtual ~ParameterSource() = default;
  [[nodiscard]] virtual const float* acquire(std::size_t unit) = 0;
  virtual void release(std::size_t unit) = 0;
};

/// Takes a layer's gradients: the model adds to what `begin` returns, then calls `end`.
class GradientSink {
 public:
  virtual ~GradientSink() = default;
  [[nodiscard]] virtual float* begin(std::size_t unit) = 0;
  virtual void end(std::size_t unit) = 0;
};

struct ModelShape {
  std::size_t layers;  ///< residual blocks
  std::size_t hidden;
  std::size_t input;  ///< features of a point; the output is as wide

  /// A block widens to four times the hidden width, as transformers do.
  [[nodiscard]] std::size_t inner() const { return 4 * hidden; }
};

/// Parameters of each unit, in forward order: the input layer, the blocks, the output layer.
[[nodiscard]] std::vector<std::size_t> unit_elements(const ModelShape& shape);

/// The initial value of one parameter: a function of the seed and its place alone.
[[nodiscard]] float initial_value(const ModelShape& shape, std::uint64_t seed, std::size_t unit,
                                  std::size_t index);

/// Whether a block keeps its inner activations for the backward pass or computes them again.
enum class Checkpointing { off, on };

/// A residual multi-layer perceptron applied to every point (row):
///   h_0 = x W_in + b_in;  h_{l+1} = h_l + act(h_l W1_l + b1_l) W2_l + b2_l;  y = h_L W_out + b_out
/// Loss: squared error, averaged over rows and outputs.
/// Everything that it holds between forward and backward comes from the device memory.
class ResidualMlp {
 public:
  ResidualMlp(const ModelShape& shape, Checkpointing checkpointing, DeviceMemory& memory);

  /// Computes the outputs of `rows` points, keeps what backward needs, and returns the sum of
  /// squared errors. `inputs` and `targets` hold rows x input values and must outlive backward.
  [[nodiscard]] double forward(std::span<const float> inputs, std::span<const float> targets,
                               std::size_t rows, ParameterSource& parameters);

  /// Adds the gradient of loss_factor times the sum of squared errors; frees what forward kept.
  void backward(float loss_factor, ParameterSource& parameters, GradientSink& gradients);

 private:
  struct BlockTrace {
    Tensor input;      ///< rows x hidden
    Tensor inner;      ///< rows x inner, before the activation; empty when checkpointed
    Tensor activated;  ///< rows x inner; empty when checkpointed
  };

  void forward_inner(const float* weights, BlockTrace& trace);
  void backward_block(std::size_t layer, Tensor& gradient, ParameterSource& parameters,
                      GradientSink& gradients);
  void linear_forward(const float* input, GemmShape shape, const float* weights, float* output,
                      Accumulate accumulate);
  /// Adds the gradients of W and b from `input` and the gradient of the output.
  void linear_backward(const float* input, std::span<const float> output_gradient, GemmShape shape,
                       float* weight_gradients);

  ModelShape shape_;
  Checkpointing checkpointing_;
  DeviceMemory& memory_;
  Device& device_;
  std::unique_ptr<MatrixProduct> product_;
  std::size_t rows_ = 0;
  std::span<const float> inputs_;
  std::span<const float> targets_;
  std::vector<BlockTrace> blocks_;
  Tensor last_hidden_;
  Tensor outputs_;
};

}  // namespace minitrain
