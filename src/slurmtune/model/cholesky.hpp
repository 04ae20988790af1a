// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace slurmtune {

/// A symmetric, positive definite matrix as the product of a lower triangular one and its
/// transpose. Source: Golub and Van Loan, "Matrix Computations", section 4.2.
class Cholesky {
 public:
  /// `matrix`: row by row, of which the lower triangle is read. Pivots below a relative 1e-12 are
  /// raised to it, so that a matrix that is only just singular has a factor too.
  Cholesky(std::span<const double> matrix, std::size_t size);

  [[nodiscard]] std::size_t size() const { return size_; }
  /// x of A x = b.
  [[nodiscard]] std::vector<double> solve(std::span<const double> right) const;
  /// b^T A^-1 b.
  [[nodiscard]] double inverse_form(std::span<const double> vector) const;
  [[nodiscard]] double log_determinant() const;

 private:
  [[nodiscard]] std::vector<double> forward(std::span<const double> right) const;

  std::size_t size_;
  std::vector<double> lower_;
};

}  // namespace slurmtune
