// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>

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

}  // namespace minitrain
