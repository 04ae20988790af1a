// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "slurmtune/model/layout/roles.hpp"
#include "slurmtune/model/linear_belief.hpp"
#include "slurmtune/space/valid_set.hpp"

namespace slurmtune {

/// Additive terms of a space's parameters: for each level of each parameter the features that it
/// adds, and the priors of their weights.
class PointFeatures {
 public:
  /// Terms for the logarithm of a value. `unsure`: what a doubling of a degree is believed to
  /// change beyond the prior, as a standard deviation of the logarithm.
  [[nodiscard]] static PointFeatures of_value(std::span<const LevelParameter> parameters,
                                              std::span<const RoledParameter> roles, double unsure);
  /// Terms for the log-odds of fitting. `unsure`: likewise. Of a role with a sign the weight is at
  /// least 0, its feature growing with what saves memory.
  [[nodiscard]] static PointFeatures of_fit(std::span<const LevelParameter> parameters,
                                            std::span<const RoledParameter> roles, double unsure);

  [[nodiscard]] const std::vector<WeightPrior>& priors() const { return priors_; }
  /// Appends the features of a point; absent and unknown levels add zeros.
  void append(std::span<const std::int32_t> levels, std::vector<double>& features) const;

 private:
  struct Term {
    std::vector<std::vector<double>> by_level;  ///< features of each level
    std::size_t width = 0;
  };

  void add_term(std::vector<std::vector<double>> by_level, std::span<const WeightPrior> priors);
  void add_steps(const LevelParameter& parameter, double deviation);

  std::vector<Term> terms_;
  std::vector<WeightPrior> priors_;
};

}  // namespace slurmtune
