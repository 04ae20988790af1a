// SPDX-License-Identifier: MIT
#include "slurmtune/runner/node/matrix_kernel.hpp"

#include <cstring>

#include "slurmtune/runner/node/vector_clones.hpp"

namespace slurmtune {

namespace {

constexpr std::size_t lane_bytes = 64;
constexpr std::size_t rows = 6;
using Lane32 = float __attribute__((vector_size(lane_bytes)));
using Lane64 = double __attribute__((vector_size(lane_bytes)));

// Twice the same: a template could not be compiled for several vector widths.

SLURMTUNE_VECTOR_CLONES
void multiply_panels(std::size_t depth, const float* a, const float* b, float* tile) {
  constexpr std::size_t columns = lane_bytes / sizeof(float);
  Lane32 sum[rows] = {};
  for (std::size_t p = 0; p < depth; ++p) {
    Lane32 b_row;
    std::memcpy(&b_row, b, sizeof b_row);
#pragma GCC unroll 6
    for (std::size_t i = 0; i < rows; ++i) sum[i] += a[i] * b_row;
    a += rows;
    b += columns;
  }
  std::memcpy(tile, sum, sizeof sum);
}

SLURMTUNE_VECTOR_CLONES
void multiply_panels(std::size_t depth, const double* a, const double* b, double* tile) {
  constexpr std::size_t columns = lane_bytes / sizeof(double);
  Lane64 sum[rows] = {};
  for (std::size_t p = 0; p < depth; ++p) {
    Lane64 b_row;
    std::memcpy(&b_row, b, sizeof b_row);
#pragma GCC unroll 6
    for (std::size_t i = 0; i < rows; ++i) sum[i] += a[i] * b_row;
    a += rows;
    b += columns;
  }
  std::memcpy(tile, sum, sizeof sum);
}

}  // namespace

template <class Real>
MatrixKernel<Real>::MatrixKernel() : a_(n * n), b_(n * n), c_(n * n) {
  // Small integers: every sum is exact, whatever its order.
  for (std::size_t i = 0; i < n * n; ++i) {
    a_[i] = static_cast<Real>(i % 7) - Real{3};
    b_[i] = static_cast<Real>(i % 5) - Real{2};
  }
}

template <class Real>
double MatrixKernel<Real>::multiply() {
  Real* tile = c_.data();
  for (std::size_t i = 0; i < n / tile_rows; ++i) {
    for (std::size_t j = 0; j < n / tile_columns; ++j) {
      multiply_panels(n, a_.data() + i * tile_rows * n, b_.data() + j * tile_columns * n, tile);
      tile += tile_rows * tile_columns;
    }
  }
  constexpr double flops = 2.0 * static_cast<double>(n * n * n);
  return flops;
}

template <class Real>
Real MatrixKernel<Real>::element(std::size_t row, std::size_t column) const {
  const std::size_t tiles_a_row = n / tile_columns;
  const std::size_t tile = row / tile_rows * tiles_a_row + column / tile_columns;
  return c_[tile * tile_rows * tile_columns + row % tile_rows * tile_columns +
            column % tile_columns];
}

template <class Real>
Real MatrixKernel<Real>::expected(std::size_t row, std::size_t column) const {
  const Real* a = a_.data() + row / tile_rows * tile_rows * n + row % tile_rows;
  const Real* b = b_.data() + column / tile_columns * tile_columns * n + column % tile_columns;
  Real sum{0};
  for (std::size_t p = 0; p < n; ++p) sum += a[p * tile_rows] * b[p * tile_columns];
  return sum;
}

template class MatrixKernel<float>;
template class MatrixKernel<double>;

}  // namespace slurmtune
