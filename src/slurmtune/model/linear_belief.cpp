// SPDX-License-Identifier: MIT
#include "slurmtune/model/linear_belief.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

namespace slurmtune {

namespace {

double dot(std::span<const double> one, std::span<const double> other) {
  double sum = 0.0;
  for (std::size_t i = 0; i < one.size(); ++i) sum += one[i] * other[i];
  return sum;
}

/// X^T diag(weights) X, lower triangle.
std::vector<double> gram(const FeatureRows& rows, std::span<const double> weights) {
  const std::size_t d = rows.features;
  std::vector<double> sums(d * d, 0.0);
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    const auto x = rows.row(r);
    for (std::size_t i = 0; i < d; ++i) {
      if (x[i] == 0.0) continue;
      const double scaled = x[i] * (weights.empty() ? 1.0 : weights[r]);
      for (std::size_t j = 0; j <= i; ++j) sums[i * d + j] += scaled * x[j];
    }
  }
  return sums;
}

}  // namespace

RidgeBelief::RidgeBelief(std::vector<WeightPrior> priors, double noise)
    : priors_(std::move(priors)), noise_(noise), weights_(priors_.size()) {
  for (std::size_t i = 0; i < priors_.size(); ++i) weights_[i] = priors_[i].mean;
}

void RidgeBelief::fit(const FeatureRows& rows, std::span<const double> y) {
  const std::size_t d = priors_.size();
  if (y.empty()) return;
  const std::vector<double> sums = gram(rows, {});
  std::vector<double> right(d, 0.0);  // X^T (y - X mean)
  double squares = 0.0;
  std::vector<double> mean(d);
  for (std::size_t i = 0; i < d; ++i) mean[i] = priors_[i].mean;
  for (std::size_t r = 0; r < rows.rows(); ++r) {
    const auto x = rows.row(r);
    const double left = y[r] - dot(x, mean);
    squares += left * left;
    for (std::size_t i = 0; i < d; ++i) right[i] += left * x[i];
  }
  constexpr std::array<double, 4> noise_factors{0.3, 1.0, 2.0, 4.0};
  constexpr std::array<double, 4> weight_factors{0.5, 1.0, 2.0, 4.0};
  const double believed = noise_;
  const auto n = static_cast<double>(y.size());
  double best = -std::numeric_limits<double>::infinity();
  for (const double noise_factor : noise_factors) {
    for (const double weight_factor : weight_factors) {
      const double variance = std::pow(believed * noise_factor, 2);
      std::vector<double> matrix(sums);
      double log_priors = 0.0;
      for (double& sum : matrix) sum /= variance;
      for (std::size_t i = 0; i < d; ++i) {
        const double factor = priors_[i].is_level ? 1.0 : weight_factor;
        const double own = std::pow(priors_[i].deviation * factor, -2);
        matrix[i * d + i] += own;
        log_priors += std::log(own);
      }
      Cholesky precision(matrix, d);
      std::vector<double> scaled(right);
      for (double& one : scaled) one /= variance;
      const double explained = precision.inverse_form(scaled);
      const double doubt =
          std::pow(std::log(noise_factor), 2) / 2.0 + std::pow(std::log(weight_factor), 2) / 2.0;
      const double evidence = 0.5 * (log_priors - precision.log_determinant() -
                                     n * std::log(variance) - squares / variance + explained) -
                              doubt;
      if (!(evidence > best)) continue;
      best = evidence;
      noise_ = believed * noise_factor;
      weights_ = precision.solve(scaled);
      for (std::size_t i = 0; i < d; ++i) weights_[i] += mean[i];
      precision_ = std::move(precision);
    }
  }
}

Belief RidgeBelief::at(std::span<const double> features) const {
  double variance = noise_ * noise_;
  if (precision_) {
    variance += precision_->inverse_form(features);
  } else {
    for (std::size_t i = 0; i < priors_.size(); ++i) {
      variance += std::pow(features[i] * priors_[i].deviation, 2);
    }
  }
  return {dot(features, weights_), std::sqrt(variance)};
}

LogisticBelief::LogisticBelief(std::vector<WeightPrior> priors)
    : priors_(std::move(priors)), weights_(priors_.size()) {
  for (std::size_t i = 0; i < priors_.size(); ++i) {
    weights_[i] = std::max(priors_[i].mean, priors_[i].least);
  }
}

void LogisticBelief::fit(const FeatureRows& rows, std::span<const double> success) {
  const std::size_t d = priors_.size();
  if (success.empty()) return;
  constexpr int most_steps = 12;
  constexpr int sweeps = 20;
  constexpr double close = 1e-4;
  std::vector<double> curvature(rows.rows());
  for (int step = 0; step < most_steps; ++step) {
    std::vector<double> gradient(d, 0.0);  // of the log posterior
    for (std::size_t r = 0; r < rows.rows(); ++r) {
      const auto x = rows.row(r);
      const double p = 1.0 / (1.0 + std::exp(-dot(x, weights_)));
      curvature[r] = std::max(p * (1.0 - p), 1e-4);
      for (std::size_t i = 0; i < d; ++i) gradient[i] += (success[r] - p) * x[i];
    }
    std::vector<double> matrix = gram(rows, curvature);
    for (std::size_t i = 0; i < d; ++i) {
      const double own = std::pow(priors_[i].deviation, -2);
      matrix[i * d + i] += own;
      gradient[i] -= own * (weights_[i] - priors_[i].mean);
      for (std::size_t j = i + 1; j < d; ++j) matrix[i * d + j] = matrix[j * d + i];
    }
    precision_ = Cholesky(matrix, d);
    // The step that is best for the quadratic, within the bounds.
    std::vector<double> moved(d, 0.0);
    std::vector<double> slope(gradient);
    for (int sweep = 0; sweep < sweeps; ++sweep) {
      double largest = 0.0;
      for (std::size_t i = 0; i < d; ++i) {
        const double wanted = moved[i] + slope[i] / matrix[i * d + i];
        const double allowed = std::max(wanted, priors_[i].least - weights_[i]);
        const double change = allowed - moved[i];
        if (change == 0.0) continue;
        moved[i] = allowed;
        for (std::size_t j = 0; j < d; ++j) slope[j] -= change * matrix[i * d + j];
        largest = std::max(largest, std::abs(change));
      }
      if (largest < close) break;
    }
    // Newton's steps may overshoot where the outcomes are nearly separated.
    double length = 0.0;
    for (const double one : moved) length = std::max(length, std::abs(one));
    const double damped = length > 2.0 ? 2.0 / length : 1.0;
    for (std::size_t i = 0; i < d; ++i) weights_[i] += damped * moved[i];
    if (length < close) break;
  }
}

double LogisticBelief::at(std::span<const double> features) const {
  const double mean = dot(features, weights_);
  double variance = 0.0;
  if (precision_) {
    variance = precision_->inverse_form(features);
  } else {
    for (std::size_t i = 0; i < priors_.size(); ++i) {
      variance += std::pow(features[i] * priors_[i].deviation, 2);
    }
  }
  const double moderated = mean / std::sqrt(1.0 + std::numbers::pi * variance / 8.0);
  return 1.0 / (1.0 + std::exp(-moderated));
}

}  // namespace slurmtune
