// SPDX-License-Identifier: MIT
#include "slurmtune/search/surrogate/value_model.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "slurmtune/search/surrogate/expected_improvement.hpp"
#include "slurmtune/search/surrogate/value_scale.hpp"

namespace slurmtune {

namespace {

/// What the process is fitted to: the better half of these, and a sample of the others.
constexpr std::size_t fitted_max = 150;
/// Those of them that teach the covariance.
constexpr std::size_t taught_by = 100;
constexpr int teaching_steps = 12;
constexpr std::size_t pending_max = 32;
/// How much of what formulas expect is believed before trials say more, and how sure that is: mean
/// and standard deviation of the slope of log values against the prior's.
constexpr double usual_trust = 0.5;
constexpr double trust_sd = 0.3;
/// Of values about the prior, before they show how far they spread: in log value, one trial's
/// worth.
constexpr double nominal_spread = 0.15;

void shuffle(std::vector<std::size_t>& numbers, Random& random) {
  for (std::size_t i = numbers.size(); i > 1; --i) {
    std::swap(numbers[i - 1], numbers[random.below(i)]);
  }
}

/// Of `count` that are sorted, the best first.
std::vector<std::size_t> choose_fitted(std::size_t count, Random& random) {
  std::vector<std::size_t> chosen;
  std::vector<std::size_t> others;
  const std::size_t sure = count <= fitted_max ? count : fitted_max / 2;
  for (std::size_t i = 0; i < count; ++i) (i < sure ? chosen : others).push_back(i);
  shuffle(others, random);
  others.resize(std::min(others.size(), fitted_max - std::min(fitted_max, sure)));
  chosen.insert(chosen.end(), others.begin(), others.end());
  shuffle(chosen, random);
  return chosen;
}

/// Shifts and scales to mean 0; the unit that they are in then.
double standardize(std::vector<double>& values) {
  const auto count = static_cast<double>(values.size());
  double mean = 0.0;
  for (const double value : values) mean += value / count;
  double variance = nominal_spread * nominal_spread / count;
  for (const double value : values) variance += (value - mean) * (value - mean) / count;
  const double unit = std::sqrt(variance);
  for (double& value : values) value = (value - mean) / unit;
  return unit;
}

/// The slope of log values against what the prior expects of them, a Bayesian regression around
/// `usual_trust`: where the prior is wrong about this space, trials soon say so.
double trust_in(std::span<const double> log_values, std::span<const double> expected) {
  const auto count = static_cast<double>(log_values.size());
  double mean_value = 0.0;
  double mean_expected = 0.0;
  for (std::size_t i = 0; i < log_values.size(); ++i) {
    mean_value += log_values[i] / count;
    mean_expected += expected[i] / count;
  }
  constexpr double certainty = nominal_spread * nominal_spread / (trust_sd * trust_sd);
  double both = certainty * usual_trust;
  double squares = certainty;
  for (std::size_t i = 0; i < log_values.size(); ++i) {
    const double step = expected[i] - mean_expected;
    both += step * (log_values[i] - mean_value);
    squares += step * step;
  }
  return std::clamp(both / squares, 0.0, 1.0);
}

}  // namespace

ValueModel::ValueModel(const LevelCoordinates& coordinates, const PointPrior& prior,
                       const KnownTrials& known, Random& random)
    : coordinates_(coordinates), prior_(prior), process_(coordinates) {
  std::vector<double> values;
  for (const auto& [trial, levels] : known.measured) values.push_back(trial.value);
  if (prior.is_informed()) {
    values = log_values(std::move(values));
    std::vector<double> expected;
    for (const auto& [trial, levels] : known.measured) {
      expected.push_back(prior.of(levels).log_value);
    }
    trust_ = trust_in(values, expected);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] -= trust_ * expected[i];
    unit_ = standardize(values);
  } else {
    values = scaled_values(std::move(values));
  }
  best_ = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < values.size(); ++i) {
    best_ = std::max(best_, values[i] + trend(known.measured[i].levels));
  }
  std::vector<Bins> points;
  std::vector<double> fitted;
  for (const std::size_t i : choose_fitted(values.size(), random)) {
    points.push_back(coordinates.bins_of(known.measured[i].levels));
    fitted.push_back(values[i]);
  }
  process_.fit(std::move(points), std::move(fitted), taught_by, teaching_steps);
  for (std::size_t i = 0; i < std::min(pending_max, known.pending.size()); ++i) {
    believe_measured_at(known.pending[i].levels);
  }
}

double ValueModel::trend(std::span<const std::int32_t> levels) const {
  return prior_.is_informed() ? trust_ * prior_.of(levels).log_value / unit_ : 0.0;
}

void ValueModel::believe_measured_at(std::span<const std::int32_t> levels) {
  points_.push_back(coordinates_.bins_of(levels));
  ++believed_;
}

void ValueModel::look_at(std::span<const Levels> candidates) {
  for (const Levels& levels : candidates) {
    points_.push_back(coordinates_.bins_of(levels));
    trends_.push_back(trend(levels));
  }
  for (const Bins& point : points_) beliefs_.push_back(process_.believe(point));
  for (std::size_t i = 0; i < believed_; ++i) {
    process_.condition_on(points_[i], beliefs_[i], points_, beliefs_);
  }
}

double ValueModel::log_expected_improvement(std::size_t candidate) const {
  const GaussianProcess::Belief& belief = beliefs_[believed_ + candidate];
  const double sd = std::sqrt(belief.variance + process_.noise_variance());
  return slurmtune::log_expected_improvement(belief.mean + trends_[candidate], sd, best_);
}

void ValueModel::believe_measured(std::size_t candidate) {
  const std::size_t at = believed_ + candidate;
  process_.condition_on(points_[at], beliefs_[at], points_, beliefs_);
}

}  // namespace slurmtune
