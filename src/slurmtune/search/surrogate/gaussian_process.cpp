// SPDX-License-Identifier: MIT
#include "slurmtune/search/surrogate/gaussian_process.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace slurmtune {

namespace {

constexpr double not_positive = -1e301;
constexpr double jitter = 1e-6;
constexpr double root5 = 2.2360679774997897;

double matern(double distance) {
  const double scaled = root5 * distance;
  return (1.0 + scaled + scaled * scaled / 3.0) * std::exp(-scaled);
}

/// Four sums, which the processor adds side by side.
double dot(const double* one, const double* other, std::size_t count) {
  double sums[4] = {0.0, 0.0, 0.0, 0.0};
  std::size_t i = 0;
  for (; i + 4 <= count; i += 4) {
    sums[0] += one[i] * other[i];
    sums[1] += one[i + 1] * other[i + 1];
    sums[2] += one[i + 2] * other[i + 2];
    sums[3] += one[i + 3] * other[i + 3];
  }
  for (; i < count; ++i) sums[0] += one[i] * other[i];
  return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// Cholesky's factor in place of the lower triangle, by rows.
bool factorize(std::vector<double>& matrix, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    double* row = &matrix[i * count];
    for (std::size_t j = 0; j < i; ++j) {
      const double* above = &matrix[j * count];
      row[j] = (row[j] - dot(row, above, j)) / above[j];
    }
    const double rest = row[i] - dot(row, row, i);
    if (rest <= 1e-10) return false;
    row[i] = std::sqrt(rest);
  }
  return true;
}

/// factor^-1 right.
void solve_lower(const std::vector<double>& factor, std::size_t count, std::vector<double>& right) {
  for (std::size_t i = 0; i < count; ++i) {
    const double* row = &factor[i * count];
    right[i] = (right[i] - dot(row, right.data(), i)) / row[i];
  }
}

/// The inverse of the matrix whose factor this is; the lower triangle.
std::vector<double> inverse_of(const std::vector<double>& factor, std::size_t count) {
  std::vector<double> lower(count * count, 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    double* row = &lower[i * count];
    for (std::size_t j = 0; j < i; ++j) {
      const double times = factor[i * count + j];
      const double* above = &lower[j * count];
      for (std::size_t k = 0; k <= j; ++k) row[k] -= times * above[k];
    }
    const double diagonal = 1.0 / factor[i * count + i];
    for (std::size_t k = 0; k < i; ++k) row[k] *= diagonal;
    row[i] = diagonal;
  }
  std::vector<double> inverse(count * count, 0.0);
  for (std::size_t k = 0; k < count; ++k) {
    const double* row = &lower[k * count];
    for (std::size_t i = 0; i <= k; ++i) {
      double* into = &inverse[i * count];
      for (std::size_t j = 0; j <= i; ++j) into[j] += row[i] * row[j];
    }
  }
  return inverse;
}

/// Log-normal priors of what `logs_` holds.
struct LogPrior {
  double median = 1.0;
  double log_sd = 1.0;
};
constexpr LogPrior length_prior{.median = 0.7, .log_sd = 1.0};  // times sqrt(parameters / 3)
constexpr LogPrior together_prior{.median = 0.7, .log_sd = 0.7};
constexpr LogPrior each_prior{.median = 0.7, .log_sd = 0.7};
constexpr LogPrior noise_prior{.median = 0.1, .log_sd = 1.0};

/// In the order of `logs_`.
std::vector<LogPrior> priors_of(std::size_t parameters) {
  std::vector<LogPrior> priors(parameters, length_prior);
  for (LogPrior& prior : priors) {
    prior.median *= std::sqrt(static_cast<double>(std::max<std::size_t>(1, parameters)) / 3.0);
  }
  priors.insert(priors.end(), {together_prior, each_prior, noise_prior});
  return priors;
}

}  // namespace

GaussianProcess::GaussianProcess(const LevelCoordinates& coordinates) : coordinates_(coordinates) {
  for (const LogPrior& prior : priors_of(coordinates.parameter_count())) {
    logs_.push_back(std::log(prior.median));
  }
  for (std::size_t i = 0; i < coordinates.parameter_count(); ++i) {
    Table table;
    table.bins = coordinates.bin_count(i);
    table.scaled2.resize(table.bins * table.bins);
    table.matern = table.slope = table.scaled2;
    tables_.push_back(std::move(table));
  }
}

void GaussianProcess::set_tables() {
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    Table& table = tables_[i];
    const double per_length = std::exp(-logs_[i]);
    for (std::size_t one = 0; one < table.bins; ++one) {
      for (std::size_t other = 0; other <= one; ++other) {
        const double distance = coordinates_.distance(i, one, other) * per_length;
        const double scaled = root5 * distance;
        const double decay = std::exp(-scaled);
        for (const std::size_t at : {one * table.bins + other, other * table.bins + one}) {
          table.scaled2[at] = distance * distance;
          table.matern[at] = (1.0 + scaled + scaled * scaled / 3.0) * decay;
          table.slope[at] = 5.0 / 3.0 * distance * distance * (1.0 + scaled) * decay;
        }
      }
    }
  }
}

double GaussianProcess::covariance(const Bins& one, const Bins& other) const {
  double distance2 = 0.0;
  double sum = 0.0;
  for (std::size_t i = 0; i < tables_.size(); ++i) {
    const std::size_t at = one[i] * tables_[i].bins + other[i];
    distance2 += tables_[i].scaled2[at];
    sum += tables_[i].matern[at];
  }
  const auto count = static_cast<double>(tables_.size());
  return std::exp(2.0 * logs_[tables_.size()]) * matern(std::sqrt(distance2)) +
         std::exp(2.0 * logs_[tables_.size() + 1]) * sum / std::max(1.0, count);
}

double GaussianProcess::noise_variance() const { return std::exp(2.0 * logs_.back()); }

double GaussianProcess::log_density(std::size_t count, std::vector<double>* gradient) {
  set_tables();
  factor_.assign(count * count, 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      factor_[i * count + j] = covariance(points_[i], points_[j]);
    }
    factor_[i * count + i] += noise_variance() + jitter;
  }
  if (!factorize(factor_, count)) return not_positive;
  weights_.assign(values_.begin(), values_.begin() + static_cast<std::ptrdiff_t>(count));
  solve_lower(factor_, count, weights_);
  double density = 0.0;
  for (std::size_t i = 0; i < count; ++i) {
    density -= 0.5 * weights_[i] * weights_[i] + std::log(factor_[i * count + i]);
  }
  for (std::size_t i = count; i-- > 0;) {
    const double* row = &factor_[i * count];
    weights_[i] /= row[i];
    for (std::size_t j = 0; j < i; ++j) weights_[j] -= row[j] * weights_[i];
  }
  if (gradient != nullptr) {
    gradient->assign(logs_.size(), 0.0);
    add_gradient(count, *gradient);
  }
  const auto priors = priors_of(tables_.size());
  for (std::size_t i = 0; i < priors.size(); ++i) {
    const double off = (logs_[i] - std::log(priors[i].median)) / priors[i].log_sd;
    density -= 0.5 * off * off;
    if (gradient != nullptr) (*gradient)[i] -= off / priors[i].log_sd;
  }
  return density;
}

void GaussianProcess::add_gradient(std::size_t count, std::vector<double>& gradient) const {
  const std::vector<double> inverse = inverse_of(factor_, count);
  const std::size_t parameters = tables_.size();
  const double together = std::exp(2.0 * logs_[parameters]);
  const double each = std::exp(2.0 * logs_[parameters + 1]) /
                      static_cast<double>(std::max<std::size_t>(1, parameters));
  const double noise = noise_variance();
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j <= i; ++j) {
      const double part = weights_[i] * weights_[j] - inverse[i * count + j];
      const double weight = i == j ? 0.5 * part : part;
      if (i == j) gradient[parameters + 2] += weight * 2.0 * noise;
      double distance2 = 0.0;
      double sum = 0.0;
      for (std::size_t k = 0; k < parameters; ++k) {
        const std::size_t at = points_[i][k] * tables_[k].bins + points_[j][k];
        distance2 += tables_[k].scaled2[at];
        sum += tables_[k].matern[at];
      }
      const double scaled = root5 * std::sqrt(distance2);
      const double decay = std::exp(-scaled);
      gradient[parameters] +=
          weight * 2.0 * together * (1.0 + scaled + scaled * scaled / 3.0) * decay;
      gradient[parameters + 1] += weight * 2.0 * each * sum;
      if (i == j) continue;
      const double common = 5.0 / 3.0 * (1.0 + scaled) * decay * together;
      for (std::size_t k = 0; k < parameters; ++k) {
        const std::size_t at = points_[i][k] * tables_[k].bins + points_[j][k];
        gradient[k] += weight * (common * tables_[k].scaled2[at] + each * tables_[k].slope[at]);
      }
    }
  }
}

void GaussianProcess::teach(std::size_t count, int steps) {
  constexpr double step_min = 1e-4;
  constexpr double step_max = 0.7;
  std::vector<double> best = logs_;
  double best_density = not_positive;
  std::vector<double> step(logs_.size(), 0.25);
  std::vector<double> before(logs_.size(), 0.0);
  std::vector<double> gradient;
  for (int i = 0; i < steps; ++i) {
    const double density = log_density(count, &gradient);
    if (density <= -1e300) {
      logs_ = best;
      for (double& size : step) size *= 0.3;
      continue;
    }
    if (density > best_density) {
      best_density = density;
      best = logs_;
    }
    for (std::size_t k = 0; k < logs_.size(); ++k) {
      const double turn = gradient[k] * before[k];
      if (turn > 0.0) step[k] = std::min(step_max, 1.3 * step[k]);
      if (turn < 0.0) step[k] = std::max(step_min, 0.5 * step[k]);
      logs_[k] += gradient[k] > 0.0 ? step[k] : gradient[k] < 0.0 ? -step[k] : 0.0;
      logs_[k] = std::clamp(logs_[k], -5.0, 4.0);
      before[k] = gradient[k];
    }
  }
  if (log_density(count, nullptr) < best_density) logs_ = best;
}

void GaussianProcess::fit(std::vector<Bins> points, std::vector<double> values,
                          std::size_t taught_by, int steps) {
  points_ = std::move(points);
  values_ = std::move(values);
  teach(std::min(points_.size(), taught_by), steps);
  // Without noise equal points have no factor.
  while (log_density(points_.size(), nullptr) <= -1e300) logs_.back() += 1.0;
}

GaussianProcess::Belief GaussianProcess::believe(const Bins& point) const {
  Belief belief;
  belief.whitened.reserve(points_.size());
  for (const Bins& known : points_) belief.whitened.push_back(covariance(point, known));
  belief.mean = dot(belief.whitened.data(), weights_.data(), weights_.size());
  solve_lower(factor_, points_.size(), belief.whitened);
  const double explained =
      dot(belief.whitened.data(), belief.whitened.data(), belief.whitened.size());
  belief.variance = std::max(1e-9, covariance(point, point) - explained);
  return belief;
}

void GaussianProcess::condition_on(const Bins& point, const Belief& believed,
                                   std::span<const Bins> points, std::span<Belief> beliefs) const {
  const std::vector<double> known = believed.whitened;
  const double sd = std::sqrt(believed.variance + noise_variance());
  for (std::size_t i = 0; i < beliefs.size(); ++i) {
    Belief& belief = beliefs[i];
    const double shared = dot(known.data(), belief.whitened.data(), known.size());
    const double more = (covariance(point, points[i]) - shared) / sd;
    belief.whitened.push_back(more);
    belief.variance = std::max(1e-9, belief.variance - more * more);
  }
}

}  // namespace slurmtune
