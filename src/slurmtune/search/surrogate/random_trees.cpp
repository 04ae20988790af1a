// SPDX-License-Identifier: MIT
#include "slurmtune/search/surrogate/random_trees.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace slurmtune {

namespace {

float threshold_between(float least, float most, Random& random) {
  const float drawn = least + static_cast<float>(random.uniform()) * (most - least);
  return drawn < most ? drawn : least;
}

}  // namespace

RandomTrees::Split RandomTrees::split_of(const Sample& sample, std::span<const std::size_t> members,
                                         Random& random) {
  const std::size_t feature_count = sample.features.front().size();
  const std::size_t wanted = std::max<std::size_t>(1, (feature_count + 1) / 2);
  std::vector<std::size_t> order(feature_count);
  std::iota(order.begin(), order.end(), std::size_t{0});
  double total = 0.0;
  for (const std::size_t member : members) total += sample.targets[member];
  const auto count = static_cast<double>(members.size());

  Split best;
  std::size_t tried = 0;
  for (std::size_t i = 0; i < feature_count && tried < wanted; ++i) {
    std::swap(order[i], order[i + random.below(feature_count - i)]);
    const std::size_t feature = order[i];
    float least = sample.features[members[0]][feature];
    float most = least;
    for (const std::size_t member : members) {
      least = std::min(least, sample.features[member][feature]);
      most = std::max(most, sample.features[member][feature]);
    }
    if (!(most > least)) continue;
    ++tried;
    const float threshold = threshold_between(least, most, random);
    double left = 0.0;
    double left_count = 0.0;
    for (const std::size_t member : members) {
      if (sample.features[member][feature] > threshold) continue;
      left += sample.targets[member];
      left_count += 1.0;
    }
    const double right = total - left;
    const double gain =
        left * left / left_count + right * right / (count - left_count) - total * total / count;
    if (gain > best.gain) best = {feature, threshold, gain};
  }
  return best;
}

std::vector<RandomTrees::Node> RandomTrees::grow(const Sample& sample, Random& random) {
  struct Open {
    std::size_t node = 0;
    std::size_t begin = 0;
    std::size_t end = 0;
  };
  std::vector<std::size_t> members(sample.targets.size());
  std::iota(members.begin(), members.end(), std::size_t{0});
  std::vector<Node> nodes(1);
  std::vector<Open> open{{0, 0, members.size()}};
  while (!open.empty()) {
    const Open next = open.back();
    open.pop_back();
    const std::span<std::size_t> here(&members[next.begin], next.end - next.begin);
    double sum = 0.0;
    bool is_equal = true;
    for (const std::size_t member : here) {
      sum += sample.targets[member];
      is_equal = is_equal && sample.targets[member] == sample.targets[here[0]];
    }
    nodes[next.node].mean = sum / static_cast<double>(here.size());
    if (is_equal) continue;
    const Split split = split_of(sample, here, random);
    if (split.gain < 0.0) continue;
    const auto middle = std::partition(here.begin(), here.end(), [&](std::size_t member) {
      return sample.features[member][split.feature] <= split.threshold;
    });
    const std::size_t border = next.begin + static_cast<std::size_t>(middle - here.begin());
    if (border == next.begin || border == next.end) continue;
    const std::size_t left = nodes.size();
    nodes.resize(left + 2);
    nodes[next.node].feature = split.feature;
    nodes[next.node].threshold = split.threshold;
    nodes[next.node].left = left;
    open.push_back({left, next.begin, border});
    open.push_back({left + 1, border, next.end});
  }
  return nodes;
}

void RandomTrees::fit(std::span<const Features> features, std::span<const double> targets,
                      std::size_t trees, Random& random) {
  trees_.clear();
  if (features.empty() || features.front().empty()) return;
  for (std::size_t i = 0; i < trees; ++i) trees_.push_back(grow({features, targets}, random));
}

double RandomTrees::predict(const Features& features) const {
  if (trees_.empty()) return 0.0;
  double sum = 0.0;
  for (const auto& nodes : trees_) {
    std::size_t at = 0;
    while (nodes[at].left != 0) {
      const bool goes_left = features[nodes[at].feature] <= nodes[at].threshold;
      at = nodes[at].left + (goes_left ? 0 : 1);
    }
    sum += nodes[at].mean;
  }
  return sum / static_cast<double>(trees_.size());
}

}  // namespace slurmtune
