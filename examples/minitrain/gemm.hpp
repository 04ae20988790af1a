// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

#include "memory.hpp"

namespace minitrain {

/// A matrix that is only read, in any order in memory: swap the strides to transpose it.
struct MatrixView {
  const float* data;
  std::size_t row_stride;
  std::size_t column_stride;

  [[nodiscard]] static MatrixView row_major(const float* data, std::size_t columns) {
    return {data, columns, 1};
  }
  [[nodiscard]] MatrixView transposed() const { return {data, column_stride, row_stride}; }
};

/// C is rows x columns, A rows x depth, B depth x columns.
struct GemmShape {
  std::size_t rows;
  std::size_t columns;
  std::size_t depth;
};

enum class Accumulate { no, yes };

/// Single-precision matrix product on one core, with its packing buffers.
/// Method: panels of A and B packed for the caches, a register-blocked kernel that the compiler
/// vectorises. Source: Goto and van de Geijn, "Anatomy of High-Performance Matrix
/// Multiplication", ACM TOMS 34(3), 2008.
class Gemm {
 public:
  /// Allocates the packing buffers (about 350 KiB): they count as device memory too.
  explicit Gemm(DeviceMemory& memory);

  /// C = A B, or C += A B; C is row-major and `shape.columns` wide, and overlaps neither A nor B.
  void multiply(GemmShape shape, MatrixView a, MatrixView b, float* c, Accumulate accumulate);

 private:
  Tensor packed_a_;
  Tensor packed_b_;
};

}  // namespace minitrain
