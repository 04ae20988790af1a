// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "slurmtune/model/cholesky.hpp"

namespace slurmtune {

/// What is believed of a weight before data.
struct WeightPrior {
  double mean = 0.0;
  double deviation = 1.0;
  double least = -std::numeric_limits<double>::infinity();  ///< a sign that is known
  bool is_level = false;  ///< of all rows alike: no data say how far such weights go
};

/// Rows of features, one after another.
struct FeatureRows {
  std::size_t features = 0;
  std::vector<double> values;

  [[nodiscard]] std::size_t rows() const { return features == 0 ? 0 : values.size() / features; }
  [[nodiscard]] std::span<const double> row(std::size_t i) const {
    return std::span(values).subspan(i * features, features);
  }
};

struct Belief {
  double mean = 0.0;
  double deviation = 0.0;
};

/// A ridge regression as a Bayesian one: y = x w + noise, w normal (`least` is not used). The noise
/// and a common factor of all deviations (but of the level's) are those, of a small grid, under
/// which the data are most likely, with a mild preference for what was believed. Source: Bishop,
/// "Pattern Recognition and Machine Learning", sections 3.3 and 3.5.
class RidgeBelief {
 public:
  RidgeBelief(std::vector<WeightPrior> priors, double noise);

  void fit(const FeatureRows& rows, std::span<const double> y);

  /// Of a further measurement: weights and noise.
  [[nodiscard]] Belief at(std::span<const double> features) const;
  [[nodiscard]] double noise() const { return noise_; }

 private:
  std::vector<WeightPrior> priors_;
  double noise_;
  std::vector<double> weights_;
  std::optional<Cholesky> precision_;  ///< of the weights; none before data
};

/// A logistic regression with normal priors cut off at `least`, at its mode, with the curvature
/// there as the precision. Sources: Bishop, sections 4.4 and 4.5 (the moderated probability);
/// projected Newton steps, each solved by coordinate descent (Friedman, Hastie and Tibshirani, J.
/// Stat. Softw. 33, 2010).
class LogisticBelief {
 public:
  explicit LogisticBelief(std::vector<WeightPrior> priors);

  /// `success`: 0 or 1 for each row.
  void fit(const FeatureRows& rows, std::span<const double> success);

  /// The probability of success, moderated by what is not sure of the weights.
  [[nodiscard]] double at(std::span<const double> features) const;

 private:
  std::vector<WeightPrior> priors_;
  std::vector<double> weights_;
  std::optional<Cholesky> precision_;
};

}  // namespace slurmtune
