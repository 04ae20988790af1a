// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "slurmtune/search/surrogate/level_coordinates.hpp"

namespace slurmtune {

/// Bins of a point (LevelCoordinates).
using Bins = std::vector<std::uint16_t>;

/// A Gaussian process of mean 0 over points of levels. Its covariance is the sum of two: of a
/// Matérn-5/2 over all parameters together, which are weighed by lengths of their own, and of the
/// mean of one for each parameter; so a few observations teach the main effects, and more of them
/// what parameters do together. Lengths, both variances and that of the noise are those of the
/// largest posterior density (log-normal priors), by resilient steps along its gradient: the same
/// on every machine to rounding. Values should have variance 1 or so.
///
/// Sources: Rasmussen and Williams, "Gaussian Processes for Machine Learning" (2006), eqs. 2.25,
/// 4.17, 5.9; Duvenaud et al., "Additive Gaussian Processes", NIPS 2011; Riedmiller and Braun,
/// "RPROP", ICNN 1993.
class GaussianProcess {
 public:
  /// `coordinates` must live as long as this.
  explicit GaussianProcess(const LevelCoordinates& coordinates);

  /// Cost: n^3 for n points, and `steps` times m^3 for the first m = min(n, `taught_by`) of them,
  /// which teach the parameters of the covariance: they should be in no order.
  void fit(std::vector<Bins> points, std::vector<double> values, std::size_t taught_by, int steps);

  struct Belief {
    double mean = 0.0;
    double variance = 0.0;         ///< of the function, without the noise of a measurement
    std::vector<double> whitened;  ///< what condition_on needs
  };
  [[nodiscard]] Belief believe(const Bins& point) const;
  /// Of a measurement, in squares of the values' unit.
  [[nodiscard]] double noise_variance() const;

  /// What `beliefs` become when `believed` is measured and is what it is believed to be: means
  /// stay, variances fall (Ginsbourger et al., "Kriging is well-suited to parallelize
  /// optimization", 2010: the kriging believer). All beliefs must have seen the same conditions.
  void condition_on(const Bins& point, const Belief& believed, std::span<const Bins> points,
                    std::span<Belief> beliefs) const;

 private:
  void set_tables();
  [[nodiscard]] double covariance(const Bins& one, const Bins& other) const;
  /// Of the first `count` points; fills `factor_` and `weights_`. Nothing below -1e300 is finite.
  double log_density(std::size_t count, std::vector<double>* gradient);
  void add_gradient(std::size_t count, std::vector<double>& gradient) const;
  void teach(std::size_t count, int steps);

  struct Table {
    std::size_t bins = 0;
    std::vector<double> scaled2;  ///< squared distance by length
    std::vector<double> matern;   ///< of it
    std::vector<double> slope;    ///< of the Matérn by the logarithm of the length
  };

  const LevelCoordinates& coordinates_;
  std::vector<Bins> points_;
  std::vector<double> values_;
  /// Logarithms: of the lengths, of the standard deviations together, each, and of the noise.
  std::vector<double> logs_;
  std::vector<Table> tables_;
  std::vector<double> factor_;   ///< Cholesky's, by rows
  std::vector<double> weights_;  ///< covariance^-1 values
};

}  // namespace slurmtune
