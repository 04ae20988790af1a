// SPDX-License-Identifier: MIT
#include "slurmtune/space/space_rules.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/core.h>

namespace slurmtune {

namespace {

using Node = ValueGraph::Node;

std::int64_t integer_of(const Value& value) { return std::get<std::int64_t>(value); }

std::vector<Value> levels_of_range(const Parameter& parameter) {
  const ParameterRange& range = *parameter.range;
  const bool is_integer = parameter.type == ParameterType::integer;
  std::vector<Value> levels;
  const double low = is_integer ? std::ceil(range.low) : range.low;
  const double high = is_integer ? std::floor(range.high) : range.high;
  if (is_integer && high - low < static_cast<double>(range_values_max)) {
    for (auto at = static_cast<std::int64_t>(low); at <= static_cast<std::int64_t>(high); ++at) {
      levels.emplace_back(at);
    }
    return levels;
  }
  const bool is_log = range.scale == Scale::log && low > 0.0;
  std::vector<double> numbers;
  for (int i = 0; i < range_levels; ++i) {
    const double share = static_cast<double>(i) / (range_levels - 1);
    const double number = is_log ? low * std::pow(high / low, share) : low + (high - low) * share;
    numbers.push_back(std::clamp(is_integer ? std::round(number) : number, low, high));
  }
  numbers.back() = high;  // pow() may miss it by a little
  numbers.erase(std::ranges::unique(numbers).begin(), numbers.end());
  for (const double number : numbers) {
    if (is_integer) {
      levels.emplace_back(std::in_place_type<std::int64_t>, std::llround(number));
    } else {
      levels.emplace_back(std::in_place_type<double>, number);
    }
  }
  return levels;
}

}  // namespace

/// Says a space in levels.
class SpaceRules {
 public:
  explicit SpaceRules(const Space& space) : space_(space) {}

  [[nodiscard]] std::vector<LevelParameter> parameters() const {
    std::vector<LevelParameter> parameters;
    for (const Parameter& from : space_.parameters_) {
      LevelParameter parameter{from.name, from.type, Scale::linear, from.role, from.choices};
      if (space_.is_accumulation(from)) {
        parameter.derived = true;
        parameter.levels = accumulations(micro_batches(parameters));
      } else if (from.range) {
        parameter.scale = from.range->scale;
        parameter.levels = levels_of_range(from);
      }
      parameters.push_back(std::move(parameter));
    }
    return parameters;
  }

  [[nodiscard]] std::vector<Demand> demands(const std::vector<LevelParameter>& parameters) const {
    std::vector<Demand> demands;
    for (const Expression& constraint : space_.constraints_) {
      demands.push_back({constraint.where(), constraint.text()});
    }
    if (has_batch_rule(parameters)) {
      demands.push_back({space_.batch_where_.empty() ? space_.path_ + ":1" : space_.batch_where_,
                         fmt::format("micro_batch x {} ranks divides the global batch {}",
                                     space_.data_parallel_, space_.global_batch_.value_or(0))});
    }
    return demands;
  }

  [[nodiscard]] LevelProblem problem(const std::vector<LevelParameter>& parameters,
                                     const std::vector<bool>& chosen) const {
    LevelProblem problem;
    std::map<std::string, Node> names;
    for (const auto& [name, value] : space_.constants()) {
      names.emplace(name, problem.graph.number(value));
    }
    std::vector<bool> optional;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      LevelVariable variable;
      variable.name = parameters[i].name;
      for (const Value& level : parameters[i].levels) {
        variable.values.push_back(expression_value(level));
      }
      variable.open.resize(variable.values.size());
      std::iota(variable.open.begin(), variable.open.end(), 0);
      const Parameter& from = space_.parameters_[i];
      if (from.when) variable.when = problem.graph.add(*from.when, names);
      if (parameters[i].derived) {
        variable.level = accumulation_level(parameters, chosen, names, problem.graph);
      }
      const Node node = problem.graph.variable(i);
      names[from.name] = node;
      if (parameters[i].derived && !space_.global_batch_) {
        const Node product = problem.graph.apply(
            Operation::multiply, {names.at(std::string(micro_batch_parameter)), node});
        names["global_batch"] = problem.graph.apply(
            Operation::multiply,
            {product, problem.graph.number(static_cast<double>(space_.data_parallel_))});
      }
      problem.variables.push_back(std::move(variable));
    }
    for (std::size_t i = 0; i < space_.constraints_.size(); ++i) {
      if (chosen[i]) add_rules(problem, problem.graph.add(space_.constraints_[i], names));
    }
    apply_single_rules(problem);
    return problem;
  }

 private:
  [[nodiscard]] static std::vector<Value> micro_batches(
      const std::vector<LevelParameter>& parameters) {
    const auto found = std::ranges::find(parameters, micro_batch_parameter, &LevelParameter::name);
    return found == parameters.end() ? std::vector<Value>{} : found->levels;
  }

  [[nodiscard]] std::vector<Value> accumulations(const std::vector<Value>& micro_batches) const {
    std::vector<std::int64_t> found;
    for (const Value& micro_batch : micro_batches) {
      const auto accumulation = space_.accumulation_for(integer_of(micro_batch));
      if (accumulation) found.push_back(*accumulation);
    }
    std::ranges::sort(found);
    found.erase(std::ranges::unique(found).begin(), found.end());
    return {found.begin(), found.end()};
  }

  [[nodiscard]] bool has_batch_rule(const std::vector<LevelParameter>& parameters) const {
    if (!space_.deepspeed_) return false;
    return std::ranges::any_of(micro_batches(parameters), [this](const Value& each) {
      return !space_.accumulation_for(integer_of(each));
    });
  }

  // The level of gradient_accumulation, as a function of micro_batch.
  [[nodiscard]] Node accumulation_level(const std::vector<LevelParameter>& parameters,
                                        const std::vector<bool>& chosen,
                                        const std::map<std::string, Node>& names,
                                        ValueGraph& graph) const {
    const std::vector<Value> batches = micro_batches(parameters);
    const std::vector<Value> levels = accumulations(batches);
    const bool rule_holds = chosen.size() == space_.constraints_.size() || chosen.back();
    std::map<double, double> level_of;
    for (const Value& each : batches) {
      const auto accumulation = space_.accumulation_for(integer_of(each));
      double level = rule_holds ? std::numeric_limits<double>::quiet_NaN() : absent_value();
      if (accumulation) {
        level =
            static_cast<double>(std::ranges::find(levels, Value(*accumulation)) - levels.begin());
      }
      level_of.emplace(expression_value(each), level);
    }
    return graph.call(
        [table = std::move(level_of)](const double* micro_batch) { return table.at(*micro_batch); },
        nullptr, {names.at(std::string(micro_batch_parameter))});
  }

  // Both sides of && are rules of their own, which are decided earlier. Not where a parameter may
  // be absent: then the whole constraint says nothing.
  void add_rules(LevelProblem& problem, Node node) const {
    const auto variables = variables_of_nodes(problem.graph)[node];
    const bool optional = std::ranges::any_of(variables, [&](std::size_t each) {
      return problem.variables[each].when || problem.variables[each].level;
    });
    if (optional || problem.graph.operation(node) != Operation::logical_and) {
      problem.rules.push_back({node, Truth::finite});
    } else {
      add_sides(problem, node);
    }
  }

  void add_sides(LevelProblem& problem, Node node) const {
    for (const Node side : problem.graph.operands(node)) {
      if (problem.graph.operation(side) == Operation::logical_and) {
        add_sides(problem, side);
      } else {
        problem.rules.push_back({side, Truth::non_zero});
      }
    }
  }

  const Space& space_;
};

std::vector<LevelParameter> level_parameters(const Space& space) {
  return SpaceRules(space).parameters();
}

std::vector<Demand> demands_of(const Space& space) {
  const SpaceRules rules(space);
  return rules.demands(rules.parameters());
}

LevelProblem level_problem(const Space& space, const std::vector<LevelParameter>& parameters,
                           const std::vector<bool>& chosen) {
  return SpaceRules(space).problem(parameters, chosen);
}

}  // namespace slurmtune
