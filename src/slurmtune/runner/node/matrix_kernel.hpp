// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <vector>

namespace slurmtune {

/// A matrix product of n x n x n whose operands are packed beforehand and stay in the second-level
/// cache: what the vector units of one core can do, not what a BLAS does with large matrices.
/// Method: the register-blocked inner kernel of Goto and van de Geijn, ACM TOMS 34(3), 2008,
/// vectorised by the compiler for the widest instructions that the processor has.
template <class Real>
class MatrixKernel {
 public:
  MatrixKernel();

  /// One product into the same C; returns its floating-point operations, 2 n^3.
  double multiply();
  /// An element of C, so that the work cannot be left out.
  [[nodiscard]] Real element(std::size_t row, std::size_t column) const;
  /// The same element by the textbook's three loops.
  [[nodiscard]] Real expected(std::size_t row, std::size_t column) const;

  static constexpr std::size_t tile_rows = 6;
  static constexpr std::size_t tile_columns = 64 / sizeof(Real);
  static constexpr std::size_t n = 192;
  static_assert(n % tile_rows == 0 && n % tile_columns == 0);

 private:
  std::vector<Real> a_;  ///< panels of tile_rows rows, column by column
  std::vector<Real> b_;  ///< panels of tile_columns columns, row by row
  std::vector<Real> c_;  ///< tiles, row by row of tiles
};

}  // namespace slurmtune
