// SPDX-License-Identifier: MIT
#include "slurmtune/space/space_sample.hpp"

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

namespace slurmtune {

namespace {

constexpr std::size_t listed_max = 20'000;
constexpr std::size_t tries_max = 200'000;

Value draw_in(const Parameter& parameter, Random& random) {
  const ParameterRange& range = *parameter.range;
  const bool is_log = range.scale == Scale::log && range.low > 0.0;
  if (parameter.type == ParameterType::integer && !is_log) {
    const auto low = static_cast<std::int64_t>(std::ceil(range.low));
    const auto high = static_cast<std::int64_t>(std::floor(range.high));
    return low +
           static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(high - low) + 1));
  }
  const double at = random.uniform();
  const double value = is_log ? range.low * std::pow(range.high / range.low, at)
                              : range.low + (range.high - range.low) * at;
  if (parameter.type == ParameterType::real) return std::clamp(value, range.low, range.high);
  return static_cast<std::int64_t>(
      std::llround(std::clamp(value, std::ceil(range.low), std::floor(range.high))));
}

/// A value of every parameter; whether a configuration without the parameter may stand for it.
struct Drawn {
  Values values;
  std::set<std::string> representative;
};

Drawn draw(const Space& space, Random& random) {
  Drawn drawn;
  for (const Parameter& parameter : space.parameters()) {
    if (parameter.range) {
      drawn.values.emplace(parameter.name, draw_in(parameter, random));
      drawn.representative.insert(parameter.name);  // a measure, not a count
      continue;
    }
    const auto index = random.below(parameter.choices.size());
    drawn.values.emplace(parameter.name, parameter.choices[index]);
    if (index == 0) drawn.representative.insert(parameter.name);
  }
  return drawn;
}

std::vector<Configuration> by_rejection(const Space& space, std::size_t count, Random& random) {
  std::vector<Configuration> found;
  std::set<ConfigurationId> seen;
  for (std::size_t i = 0; i < tries_max && found.size() < count; ++i) {
    const Drawn drawn = draw(space, random);
    auto configuration = space.complete(drawn.values);
    if (!configuration || !space.contains(*configuration)) continue;
    const bool stands = std::ranges::all_of(drawn.values, [&](const auto& entry) {
      return configuration->values.contains(entry.first) ||
             drawn.representative.contains(entry.first);
    });
    if (!stands || !seen.insert(configuration_id(*configuration)).second) continue;
    found.push_back(*std::move(configuration));
  }
  return found;
}

}  // namespace

std::vector<Configuration> sample_space(const Space& space, std::size_t count, Seed seed) {
  Random chance(seed);
  auto all = space.enumerate(listed_max);
  if (!all) return by_rejection(space, count, chance);
  // The first `count` places of a shuffle (Fisher and Yates).
  const std::size_t wanted = std::min(count, all->size());
  for (std::size_t i = 0; i < wanted; ++i) {
    std::swap((*all)[i], (*all)[i + chance.below(all->size() - i)]);
  }
  all->resize(wanted);
  return *std::move(all);
}

}  // namespace slurmtune
