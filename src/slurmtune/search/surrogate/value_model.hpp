// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "slurmtune/base/random.hpp"
#include "slurmtune/model/point_prior.hpp"
#include "slurmtune/search/surrogate/gaussian_process.hpp"
#include "slurmtune/search/surrogate/known_trials.hpp"
#include "slurmtune/search/surrogate/level_coordinates.hpp"

namespace slurmtune {

/// What is believed of the values of points: a Gaussian process over the measured, on top of the
/// prior where that is informed. Pending trials are believed to be what they are expected to be.
class ValueModel {
 public:
  /// Needs a measured trial. `coordinates` and `prior` must live as long as this.
  ValueModel(const LevelCoordinates& coordinates, const PointPrior& prior, const KnownTrials& known,
             Random& random);

  /// A point that is going to be measured; before look_at.
  void believe_measured_at(std::span<const std::int32_t> levels);
  /// The candidates that the following are about, by their number.
  void look_at(std::span<const Levels> candidates);
  [[nodiscard]] double log_expected_improvement(std::size_t candidate) const;
  void believe_measured(std::size_t candidate);

 private:
  [[nodiscard]] double trend(std::span<const std::int32_t> levels) const;

  const LevelCoordinates& coordinates_;
  const PointPrior& prior_;
  GaussianProcess process_;
  double trust_ = 0.0;        ///< in the prior: the slope of log values against what it expects
  double unit_ = 1.0;         ///< of the process' values, in log value
  double best_ = 0.0;         ///< measured, in units
  std::vector<Bins> points_;  ///< those believed to be measured first, then candidates
  std::size_t believed_ = 0;
  std::vector<GaussianProcess::Belief> beliefs_;
  std::vector<double> trends_;  ///< of candidates
};

}  // namespace slurmtune
