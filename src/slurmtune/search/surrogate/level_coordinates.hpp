// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "slurmtune/space/valid_set.hpp"

namespace slurmtune {

/// How far levels are apart, as the surrogates see it.
///
/// A parameter's levels are put into bins: bin 0 is "absent", a level has a bin of its own, or, of
/// more than `bins_max`, shares one with its neighbours. Numbers have coordinates from 0 to 1,
/// on a logarithmic scale where they are positive and span a factor of 3, or where the study
/// says so; of other numbers from 0 to 16 or more on the scale of log(1 + x). Of ordinal levels
/// those that are words are evenly spaced. Categorical levels, and absence, are all 1 apart.
class LevelCoordinates {
 public:
  static constexpr std::size_t bins_max = 64;

  explicit LevelCoordinates(std::span<const LevelParameter> parameters);

  [[nodiscard]] std::size_t parameter_count() const { return parameters_.size(); }
  [[nodiscard]] std::size_t bin_count(std::size_t parameter) const {
    return parameters_[parameter].bins;
  }
  /// From 0 to 1.
  [[nodiscard]] double distance(std::size_t parameter, std::size_t bin, std::size_t other) const;
  /// The bins of a point, one for each parameter.
  [[nodiscard]] std::vector<std::uint16_t> bins_of(std::span<const std::int32_t> levels) const;
  /// Squared distances of all parameters.
  [[nodiscard]] double distance2(std::span<const std::uint16_t> one,
                                 std::span<const std::uint16_t> other) const;
  /// Squared distance from the middle of all ordered parameters.
  [[nodiscard]] double from_middle2(std::span<const std::uint16_t> bins) const;

  /// Numbers for trees: coordinates of ordered parameters (absent: -1), an indicator for each
  /// level of those that are categorical or have few levels, and for each pair of parameters that
  /// are positive numbers the logarithms of their product and quotient, as in tile sizes.
  [[nodiscard]] std::vector<float> features(std::span<const std::int32_t> levels) const;

 private:
  struct Parameter {
    bool is_ordered = false;
    std::size_t levels = 0;
    std::size_t bins = 0;
    std::vector<double> coordinates;  ///< by level
    std::vector<double> logarithms;   ///< by level; empty unless positive numbers, three or more
    std::vector<double> of_bin;       ///< by bin, without bin 0
  };
  static Parameter read(const LevelParameter& parameter);

  std::vector<Parameter> parameters_;
};

}  // namespace slurmtune
