// SPDX-License-Identifier: MIT
#include "slurmtune/model/point_features.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <variant>

#include "slurmtune/model/order_knowledge.hpp"

namespace slurmtune {

namespace {

/// Words with more levels than this are told apart no further: each would be its own parameter.
constexpr std::size_t most_steps = 12;

std::optional<double> number_of(const Value& value) {
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return static_cast<double>(*integer);
  }
  if (const auto* real = std::get_if<double>(&value)) return *real;
  return std::nullopt;
}

/// The levels as numbers in natural units: doublings where all are positive and far apart, else
/// steps of the whole range. Nothing for words and switches.
std::optional<std::vector<double>> scaled_levels(const LevelParameter& parameter) {
  std::vector<double> numbers;
  for (const Value& level : parameter.levels) {
    const auto number = number_of(level);
    if (!number || !std::isfinite(*number)) return std::nullopt;
    numbers.push_back(*number);
  }
  if (numbers.size() < 2) return std::nullopt;
  const auto [low, high] = std::ranges::minmax(numbers);
  if (!(high > low)) return std::nullopt;
  constexpr double far_apart = 4.0;
  const bool doubles = low > 0.0 && high >= far_apart * low;
  double middle = 0.0;
  for (double& number : numbers) {
    number = doubles ? std::log2(number) : 2.0 * (number - low) / (high - low);
    middle += number / static_cast<double>(numbers.size());
  }
  for (double& number : numbers) number -= middle;
  return numbers;
}

/// A role's quantities, centred: doublings of degrees and batches, steps of stages and modes.
std::vector<std::vector<double>> quantities_as_features(const RoledParameter& roled) {
  std::vector<double> scaled;
  double middle = 0.0;
  double known = 0.0;
  for (const auto& quantity : roled.quantities) {
    double one = 0.0;
    if (quantity) {
      const bool is_step = roled.role == LayoutRole::zero_stage || roled.is_flag ||
                           roled.role == LayoutRole::activation_checkpointing ||
                           roled.role == LayoutRole::offload;
      one = is_step ? *quantity : std::log2(std::max(*quantity, 0.5));
      middle += one;
      known += 1.0;
    }
    scaled.push_back(one);
  }
  std::vector<std::vector<double>> features;
  for (std::size_t i = 0; i < scaled.size(); ++i) {
    const double centred = known > 0.0 ? scaled[i] - middle / known : 0.0;
    features.push_back({roled.quantities[i] ? centred : 0.0});
  }
  return features;
}

}  // namespace

void PointFeatures::add_term(std::vector<std::vector<double>> by_level,
                             std::span<const WeightPrior> priors) {
  terms_.push_back({std::move(by_level), priors.size()});
  priors_.insert(priors_.end(), priors.begin(), priors.end());
}

void PointFeatures::add_steps(const LevelParameter& parameter, double deviation) {
  const std::size_t steps = std::min(parameter.levels.size(), most_steps);
  std::vector<std::vector<double>> by_level(parameter.levels.size(),
                                            std::vector<double>(steps, 0.0));
  for (std::size_t i = 0; i < steps; ++i) by_level[i][i] = 1.0;
  add_term(std::move(by_level), std::vector<WeightPrior>(steps, WeightPrior{0.0, deviation}));
}

PointFeatures PointFeatures::of_value(std::span<const LevelParameter> parameters,
                                      std::span<const RoledParameter> roles, double unsure) {
  PointFeatures made;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const LevelParameter& parameter = parameters[i];
    if (parameter.levels.size() < 2) {
      made.add_term(std::vector<std::vector<double>>(parameter.levels.size()), {});
      continue;
    }
    const auto scaled = scaled_levels(parameter);
    const bool known = roles[i].role != LayoutRole::none;
    const double deviation = known ? unsure : 2.0 * unsure;
    if (!scaled || parameter.levels.size() == 2) {
      made.add_steps(parameter, deviation);
      continue;
    }
    std::vector<std::vector<double>> by_level;
    for (const double x : *scaled) by_level.push_back({x, x * x});
    made.add_term(std::move(by_level),
                  std::array{WeightPrior{0.0, deviation}, WeightPrior{0.0, 0.4 * deviation}});
  }
  return made;
}

PointFeatures PointFeatures::of_fit(std::span<const LevelParameter> parameters,
                                    std::span<const RoledParameter> roles, double unsure) {
  PointFeatures made;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const LevelParameter& parameter = parameters[i];
    const RoledParameter& roled = roles[i];
    const MemorySign sign = memory_sign(roled.role);
    if (parameter.levels.size() < 2 || sign == MemorySign::no_matter) {
      made.add_term(std::vector<std::vector<double>>(parameter.levels.size()), {});
      continue;
    }
    const bool ordered = sign == MemorySign::more || sign == MemorySign::less;
    if (ordered) {
      auto by_level = quantities_as_features(roled);
      if (sign == MemorySign::more) {
        for (auto& features : by_level) features[0] = -features[0];
      }
      made.add_term(std::move(by_level), std::array{WeightPrior{0.0, unsure, 0.0}});
      continue;
    }
    const auto scaled = scaled_levels(parameter);
    if (!scaled || parameter.levels.size() == 2) {
      made.add_steps(parameter, 0.7);
      continue;
    }
    std::vector<std::vector<double>> by_level;
    for (const double x : *scaled) by_level.push_back({x});
    made.add_term(std::move(by_level), std::array{WeightPrior{0.0, 0.7}});
  }
  return made;
}

void PointFeatures::append(std::span<const std::int32_t> levels,
                           std::vector<double>& features) const {
  for (std::size_t i = 0; i < terms_.size(); ++i) {
    const Term& term = terms_[i];
    const bool present = i < levels.size() && levels[i] >= 0;
    if (!present) {
      features.insert(features.end(), term.width, 0.0);
      continue;
    }
    const auto& own = term.by_level[static_cast<std::size_t>(levels[i])];
    features.insert(features.end(), own.begin(), own.end());
  }
}

}  // namespace slurmtune
