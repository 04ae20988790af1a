// SPDX-License-Identifier: MIT
#include "examples/minitrain/gemm.hpp"

#include <cstddef>
#include <vector>

#include "examples/minitrain/chance.hpp"
#include "tests/support/catch.hpp"

using minitrain::Accumulate;
using minitrain::DeviceMemory;
using minitrain::Gemm;
using minitrain::GemmShape;
using minitrain::MatrixView;

namespace {

std::vector<float> random_matrix(std::size_t elements, std::uint64_t key) {
  std::vector<float> values(elements);
  for (std::size_t i = 0; i < elements; ++i) values[i] = minitrain::random_symmetric(key, i);
  return values;
}

std::vector<double> naive(GemmShape shape, MatrixView a, MatrixView b,
                          const std::vector<float>& start) {
  std::vector<double> c(start.begin(), start.end());
  for (std::size_t i = 0; i < shape.rows; ++i) {
    for (std::size_t j = 0; j < shape.columns; ++j) {
      for (std::size_t p = 0; p < shape.depth; ++p) {
        c[i * shape.columns + j] +=
            static_cast<double>(a.data[i * a.row_stride + p * a.column_stride]) *
            b.data[p * b.row_stride + j * b.column_stride];
      }
    }
  }
  return c;
}

double largest_error(const std::vector<float>& got, const std::vector<double>& wanted) {
  double largest = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    largest = std::max(largest, std::abs(static_cast<double>(got[i]) - wanted[i]));
  }
  return largest;
}

}  // namespace

TEST_CASE("Gemm: agrees with the definition for odd shapes, strides and sums", "[minitrain]") {
  // Below, at and above the register tile (6 x 16) and the cache blocks (72, 256, 256).
  const auto [rows, columns, depth] = GENERATE(table<std::size_t, std::size_t, std::size_t>({
      {1, 1, 1},
      {6, 16, 8},
      {7, 17, 3},
      {5, 64, 256},
      {73, 257, 259},
      {144, 31, 513},
  }));
  const bool transpose_a = GENERATE(false, true);
  const bool transpose_b = GENERATE(false, true);
  const Accumulate accumulate = GENERATE(Accumulate::no, Accumulate::yes);
  const GemmShape shape = {rows, columns, depth};
  const std::vector<float> a_data = random_matrix(rows * depth, 1);
  const std::vector<float> b_data = random_matrix(depth * columns, 2);
  const MatrixView a = transpose_a ? MatrixView::row_major(a_data.data(), rows).transposed()
                                   : MatrixView::row_major(a_data.data(), depth);
  const MatrixView b = transpose_b ? MatrixView::row_major(b_data.data(), depth).transposed()
                                   : MatrixView::row_major(b_data.data(), columns);
  std::vector<float> c = random_matrix(rows * columns, 3);
  const std::vector<double> wanted =
      naive(shape, a, b, accumulate == Accumulate::yes ? c : std::vector<float>(c.size()));

  DeviceMemory memory(std::nullopt);
  Gemm gemm(memory);
  gemm.multiply(shape, a, b, c.data(), accumulate);
  CHECK(largest_error(c, wanted) < 1e-6 * static_cast<double>(depth + 8));
}

TEST_CASE("Gemm: writes nothing outside C", "[minitrain]") {
  const std::vector<float> a = random_matrix(7 * 9, 1);
  const std::vector<float> b = random_matrix(9 * 17, 2);
  std::vector<float> c(7 * 17 + 32, 42.0F);
  DeviceMemory memory(std::nullopt);
  Gemm gemm(memory);
  gemm.multiply({7, 17, 9}, MatrixView::row_major(a.data(), 9), MatrixView::row_major(b.data(), 17),
                c.data(), Accumulate::no);
  CHECK(std::vector<float>(c.end() - 32, c.end()) == std::vector<float>(32, 42.0F));
}

TEST_CASE("Gemm: a product over nothing is zero", "[minitrain]") {
  std::vector<float> c(6, 42.0F);
  DeviceMemory memory(std::nullopt);
  Gemm gemm(memory);
  gemm.multiply({2, 3, 0}, {nullptr, 0, 1}, {nullptr, 3, 1}, c.data(), Accumulate::no);
  CHECK(c == std::vector<float>(6, 0.0F));
}
