// SPDX-License-Identifier: MIT
#include "slurmtune/space/space.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/space/stage_template.hpp"

namespace slurmtune {

namespace {

using Variables = std::map<std::string, double>;

// A condition that cannot be evaluated does not hold.
bool applies(const Parameter& parameter, const Variables& variables) {
  return !parameter.when || parameter.when->holds(variables).value_or(false);
}

bool all_seen(const Expression& expression, const Variables& variables) {
  return std::ranges::all_of(expression.variables(),
                             [&](const std::string& name) { return variables.contains(name); });
}

bool allows(const Expression& constraint, const Variables& variables) {
  return !all_seen(constraint, variables) || constraint.holds(variables).value_or(false);
}

}  // namespace

bool Parameter::admits(const Value& value) const {
  if (!range) return std::ranges::find(choices, value) != choices.end();
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    const auto at = static_cast<double>(*integer);
    return type == ParameterType::integer && at >= range->low && at <= range->high;
  }
  if (const auto* real = std::get_if<double>(&value)) {
    return type == ParameterType::real && *real >= range->low && *real <= range->high;
  }
  return false;
}

const Parameter* Space::find(std::string_view name) const {
  const auto found = std::ranges::find(parameters_, name, &Parameter::name);
  return found == parameters_.end() ? nullptr : &*found;
}

std::map<std::string, double> Space::constants() const {
  Variables variables{
      {"nodes", nodes_},
      {"processes_per_node", processes_per_node_},
      {"processes", static_cast<double>(ranks_)},
      {"data_parallel", static_cast<double>(data_parallel_)},
  };
  if (global_batch_) variables["global_batch"] = static_cast<double>(*global_batch_);
  return variables;
}

void Space::see(const std::string& name, const Value& value, Variables& variables) const {
  variables[name] = expression_value(value);
  if (deepspeed_ && !global_batch_ && name == accumulation_parameter) {
    variables["global_batch"] = variables[std::string(micro_batch_parameter)] * variables[name] *
                                static_cast<double>(data_parallel_);
  }
}

bool Space::is_accumulation(const Parameter& parameter) const {
  return deepspeed_ && parameter.name == accumulation_parameter;
}

std::optional<std::int64_t> Space::accumulation_for(std::int64_t micro_batch) const {
  if (micro_batch < 1) return std::nullopt;
  if (!global_batch_) return user_accumulation_;
  const std::int64_t samples_per_rank = *global_batch_ / data_parallel_;
  if (samples_per_rank % micro_batch != 0) return std::nullopt;
  return samples_per_rank / micro_batch;
}

std::string Space::no_accumulation(std::int64_t micro_batch) const {
  return fmt::format("the global batch {} is not a multiple of micro_batch {} x {} ranks",
                     global_batch_.value_or(0), micro_batch, data_parallel_);
}

bool Space::contains(const Configuration& configuration) const {
  Variables variables = constants();
  std::size_t used = 0;
  for (const Parameter& parameter : parameters_) {
    const auto value = configuration.values.find(parameter.name);
    const bool there = value != configuration.values.end();
    if (there != applies(parameter, variables)) return false;
    if (!there) continue;
    ++used;
    if (is_accumulation(parameter)) {
      const auto micro_batch = configuration.integer(micro_batch_parameter);
      const auto accumulation = configuration.integer(accumulation_parameter);
      if (!micro_batch || !accumulation || accumulation_for(*micro_batch) != accumulation) {
        return false;
      }
    } else if (!parameter.admits(value->second)) {
      return false;
    }
    see(parameter.name, value->second, variables);
  }
  std::size_t knobs = 0;
  for (const auto& [name, value] : configuration.values) knobs += is_knob_name(name) ? 1U : 0U;
  if (knobs > 0 && !has_knobs_) return false;
  if (used + knobs != configuration.values.size()) return false;
  return std::ranges::all_of(constraints_,
                             [&](const Expression& e) { return allows(e, variables); });
}

std::vector<int> Space::zero_stages() const {
  std::vector<int> stages;
  const Parameter* parameter = deepspeed_ ? find(zero_stage_parameter) : nullptr;
  if (parameter == nullptr) return stages;
  for (const Value& choice : parameter->choices) {
    stages.push_back(static_cast<int>(std::get<std::int64_t>(choice)));
  }
  return stages;
}

std::vector<std::int64_t> Space::micro_batches(int zero_stage) const {
  std::vector<std::int64_t> open;
  const auto stages = zero_stages();
  if (std::ranges::find(stages, zero_stage) == stages.end()) return open;
  const Parameter& parameter = *find(micro_batch_parameter);
  std::vector<std::int64_t> candidates;
  for (const Value& choice : parameter.choices) {
    candidates.push_back(std::get<std::int64_t>(choice));
  }
  if (parameter.range) {
    const auto high = static_cast<std::int64_t>(parameter.range->high);
    for (auto batch = static_cast<std::int64_t>(parameter.range->low); batch <= high; ++batch) {
      candidates.push_back(batch);
    }
  }
  for (const std::int64_t micro_batch : candidates) {
    const auto accumulation = accumulation_for(micro_batch);
    if (!accumulation) continue;
    Variables variables = constants();
    see(std::string(zero_stage_parameter), std::int64_t{zero_stage}, variables);
    see(std::string(micro_batch_parameter), micro_batch, variables);
    see(std::string(accumulation_parameter), *accumulation, variables);
    const bool allowed = std::ranges::all_of(
        constraints_, [&](const Expression& e) { return allows(e, variables); });
    if (allowed) open.push_back(micro_batch);
  }
  std::ranges::sort(open);
  return open;
}

Expected<Configuration> Space::complete(Values partial) const {
  Configuration configuration;
  Variables variables = constants();
  for (const Parameter& parameter : parameters_) {
    const auto given = partial.find(parameter.name);
    Value value = defaults_.at(parameter.name);
    if (given != partial.end()) {
      value = std::move(given->second);
      partial.erase(given);
    }
    if (!applies(parameter, variables)) continue;
    if (is_accumulation(parameter)) {
      const auto micro_batch = configuration.integer(micro_batch_parameter);
      if (!micro_batch) return invalid_input("micro_batch must be an integer; write one");
      const auto accumulation = accumulation_for(*micro_batch);
      if (!accumulation) {
        return invalid_input(no_accumulation(*micro_batch) + "; choose another micro_batch");
      }
      value = *accumulation;
    }
    see(parameter.name, value, variables);
    configuration.values.emplace(parameter.name, std::move(value));
  }
  if (partial.empty()) return configuration;
  std::vector<std::string_view> known;
  for (const Parameter& parameter : parameters_) known.emplace_back(parameter.name);
  const std::string& name = partial.begin()->first;
  const std::string_view nearest = nearest_word(name, known);
  return invalid_input(
      nearest.empty() ? fmt::format("\"{}\" is no parameter of this study; remove it", name)
                      : fmt::format("\"{}\" is no parameter of this study; did you mean \"{}\"?",
                                    name, nearest));
}

}  // namespace slurmtune
