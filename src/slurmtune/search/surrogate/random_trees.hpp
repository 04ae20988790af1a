// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "slurmtune/base/random.hpp"

namespace slurmtune {

/// Extremely randomised trees: each split is the best of some that are drawn at random, leaves hold
/// equal targets. Source: Geurts, Ernst, Wehenkel, "Extremely randomized trees", Machine Learning
/// 63 (2006).
class RandomTrees {
 public:
  using Features = std::vector<float>;

  /// All of `features` are equally long; one target each. Half of the features are tried a split.
  void fit(std::span<const Features> features, std::span<const double> targets, std::size_t trees,
           Random& random);

  /// The mean of the trees' leaves; 0 without trees.
  [[nodiscard]] double predict(const Features& features) const;

 private:
  struct Node {
    std::size_t feature = 0;
    float threshold = 0.0F;  ///< left: at most
    std::size_t left = 0;    ///< 0 = a leaf; the right child is the next
    double mean = 0.0;
  };
  struct Split {
    std::size_t feature = 0;
    float threshold = 0.0F;
    double gain = -1.0;
  };
  struct Sample {
    std::span<const Features> features;
    std::span<const double> targets;
  };
  static Split split_of(const Sample& sample, std::span<const std::size_t> members, Random& random);
  static std::vector<Node> grow(const Sample& sample, Random& random);

  std::vector<std::vector<Node>> trees_;
};

}  // namespace slurmtune
