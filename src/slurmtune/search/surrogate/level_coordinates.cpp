// SPDX-License-Identifier: MIT
#include "slurmtune/search/surrogate/level_coordinates.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

namespace slurmtune {

namespace {

constexpr std::size_t indicator_levels_max = 4;

std::optional<double> number_of(const Value& level) {
  if (const auto* flag = std::get_if<bool>(&level)) return *flag ? 1.0 : 0.0;
  if (const auto* integer = std::get_if<std::int64_t>(&level)) return static_cast<double>(*integer);
  if (const auto* real = std::get_if<double>(&level)) return *real;
  return std::nullopt;
}

/// The numbers of all levels; empty if one is none.
std::vector<double> numbers_of(const LevelParameter& parameter) {
  std::vector<double> numbers;
  for (const Value& level : parameter.levels) {
    const auto number = number_of(level);
    if (!number || !std::isfinite(*number)) return {};
    numbers.push_back(*number);
  }
  return numbers;
}

void put_on_scale(std::vector<double>& numbers, Scale scale) {
  const auto [least, most] = std::ranges::minmax(numbers);
  if (least > 0.0 && (most / least >= 3.0 || scale == Scale::log)) {
    for (double& number : numbers) number = std::log2(number);
  } else if (least >= 0.0 && most >= 16.0) {
    for (double& number : numbers) number = std::log2(1.0 + number);
  }
}

}  // namespace

LevelCoordinates::Parameter LevelCoordinates::read(const LevelParameter& parameter) {
  Parameter read;
  read.levels = parameter.levels.size();
  std::vector<double> numbers;
  if (parameter.type != ParameterType::categorical) numbers = numbers_of(parameter);
  const bool is_word_order = parameter.type == ParameterType::ordinal && numbers.empty();
  read.is_ordered = !numbers.empty() || is_word_order || read.levels == 2;
  if (numbers.empty()) {
    for (std::size_t i = 0; i < read.levels; ++i) numbers.push_back(static_cast<double>(i));
  } else {
    const auto [least, most] = std::ranges::minmax(numbers);
    if (read.levels > 2 && least > 0.0 && most / least >= 2.0) {
      for (const double number : numbers) read.logarithms.push_back(std::log2(number));
    }
    put_on_scale(numbers, parameter.scale);
  }
  const auto [least, most] =
      numbers.empty() ? std::ranges::minmax_result<double>{0.0, 0.0} : std::ranges::minmax(numbers);
  for (double& number : numbers) number = most > least ? (number - least) / (most - least) : 0.0;
  read.coordinates = std::move(numbers);

  const std::size_t bins = std::min(read.levels, bins_max);
  read.bins = bins + 1;
  read.of_bin.assign(bins, 0.0);
  std::vector<double> counts(bins, 0.0);
  for (std::size_t level = 0; level < read.levels; ++level) {
    const std::size_t bin = level * bins / read.levels;
    read.of_bin[bin] += read.coordinates[level];
    counts[bin] += 1.0;
  }
  for (std::size_t bin = 0; bin < bins; ++bin) read.of_bin[bin] /= counts[bin];
  return read;
}

LevelCoordinates::LevelCoordinates(std::span<const LevelParameter> parameters) {
  for (const LevelParameter& parameter : parameters) parameters_.push_back(read(parameter));
}

double LevelCoordinates::distance(std::size_t parameter, std::size_t bin, std::size_t other) const {
  if (bin == other) return 0.0;
  const Parameter& which = parameters_[parameter];
  if (!which.is_ordered || bin == 0 || other == 0) return 1.0;
  return std::abs(which.of_bin[bin - 1] - which.of_bin[other - 1]);
}

std::vector<std::uint16_t> LevelCoordinates::bins_of(std::span<const std::int32_t> levels) const {
  std::vector<std::uint16_t> bins(parameters_.size(), 0);
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (levels[i] < 0) continue;
    const auto level = static_cast<std::size_t>(levels[i]);
    const Parameter& parameter = parameters_[i];
    bins[i] = static_cast<std::uint16_t>(1 + level * (parameter.bins - 1) / parameter.levels);
  }
  return bins;
}

double LevelCoordinates::distance2(std::span<const std::uint16_t> one,
                                   std::span<const std::uint16_t> other) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const double apart = distance(i, one[i], other[i]);
    sum += apart * apart;
  }
  return sum;
}

double LevelCoordinates::from_middle2(std::span<const std::uint16_t> bins) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (!parameters_[i].is_ordered || bins[i] == 0) continue;
    const double apart = parameters_[i].of_bin[bins[i] - 1U] - 0.5;
    sum += apart * apart;
  }
  return sum;
}

std::vector<float> LevelCoordinates::features(std::span<const std::int32_t> levels) const {
  std::vector<float> features;
  const auto add = [&](double feature) { features.push_back(static_cast<float>(feature)); };
  const auto log_of = [&](std::size_t i) {
    return levels[i] < 0 ? 0.0 : parameters_[i].logarithms[static_cast<std::size_t>(levels[i])];
  };
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = parameters_[i];
    const bool is_absent = levels[i] < 0;
    if (parameter.is_ordered) {
      add(is_absent ? -1.0 : parameter.coordinates[static_cast<std::size_t>(levels[i])]);
    }
    if (parameter.is_ordered && (parameter.levels < 3 || parameter.levels > indicator_levels_max)) {
      continue;
    }
    for (std::size_t level = 0; level < parameter.levels; ++level) {
      add(!is_absent && static_cast<std::size_t>(levels[i]) == level ? 1.0 : 0.0);
    }
  }
  for (std::size_t i = 0; i < parameters_.size(); ++i) {
    if (parameters_[i].logarithms.empty()) continue;
    for (std::size_t j = i + 1; j < parameters_.size(); ++j) {
      if (parameters_[j].logarithms.empty()) continue;
      add(log_of(i) + log_of(j));
      add(log_of(i) - log_of(j));
    }
  }
  return features;
}

}  // namespace slurmtune
