// SPDX-License-Identifier: MIT
#include "slurmtune/model/cholesky.hpp"

#include <algorithm>
#include <cmath>

namespace slurmtune {

Cholesky::Cholesky(std::span<const double> matrix, std::size_t size)
    : size_(size), lower_(size * size, 0.0) {
  double largest = 0.0;
  for (std::size_t i = 0; i < size; ++i) largest = std::max(largest, matrix[i * size + i]);
  const double least = std::max(largest, 1e-300) * 1e-12;
  for (std::size_t i = 0; i < size; ++i) {
    double* row = &lower_[i * size];
    for (std::size_t j = 0; j <= i; ++j) {
      const double* other = &lower_[j * size];
      double sum = matrix[i * size + j];
      for (std::size_t k = 0; k < j; ++k) sum -= row[k] * other[k];
      row[j] = i == j ? std::sqrt(std::max(sum, least)) : sum / other[j];
    }
  }
}

std::vector<double> Cholesky::forward(std::span<const double> right) const {
  std::vector<double> y(right.begin(), right.end());
  for (std::size_t i = 0; i < size_; ++i) {
    const double* row = &lower_[i * size_];
    for (std::size_t k = 0; k < i; ++k) y[i] -= row[k] * y[k];
    y[i] /= row[i];
  }
  return y;
}

std::vector<double> Cholesky::solve(std::span<const double> right) const {
  std::vector<double> x = forward(right);
  for (std::size_t i = size_; i-- > 0;) {
    for (std::size_t k = i + 1; k < size_; ++k) x[i] -= lower_[k * size_ + i] * x[k];
    x[i] /= lower_[i * size_ + i];
  }
  return x;
}

double Cholesky::inverse_form(std::span<const double> vector) const {
  double sum = 0.0;
  for (const double y : forward(vector)) sum += y * y;
  return sum;
}

double Cholesky::log_determinant() const {
  double sum = 0.0;
  for (std::size_t i = 0; i < size_; ++i) sum += 2.0 * std::log(lower_[i * size_ + i]);
  return sum;
}

}  // namespace slurmtune
