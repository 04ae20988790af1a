// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <iterator>
#include <numeric>

#include "slurmtune/space/level_problem.hpp"

namespace slurmtune {

namespace {

/// Sets of variables that grow together.
class Ties {
 public:
  explicit Ties(std::size_t count) : parents_(count) {
    std::iota(parents_.begin(), parents_.end(), std::size_t{0});
  }

  std::size_t root(std::size_t variable) {
    while (parents_[variable] != variable) {
      parents_[variable] = parents_[parents_[variable]];
      variable = parents_[variable];
    }
    return variable;
  }

  void tie(std::size_t first, std::size_t second) {
    first = root(first);
    second = root(second);
    parents_[std::max(first, second)] = std::min(first, second);
  }

 private:
  std::vector<std::size_t> parents_;
};

/// A node of one variable, for each of its values.
std::vector<double> evaluated(const ValueGraph& graph, ValueGraph::Node node,
                              const std::vector<double>& values) {
  if (graph.operation(node) == Operation::variable) return values;
  if (graph.operation(node) == Operation::number) {
    return std::vector<double>(values.size(), graph.value(node));
  }
  std::vector<std::vector<double>> columns;
  for (const auto operand : graph.operands(node)) {
    columns.push_back(evaluated(graph, operand, values));
  }
  std::vector<const double*> operands;
  for (const auto& column : columns) operands.push_back(column.data());
  std::vector<double> result(values.size());
  graph.evaluate(node, operands, result);
  return result;
}

}  // namespace

bool rule_allows(Truth truth, double value) {
  if (is_absent(value)) return true;
  return value != 0.0 && (truth == Truth::non_zero || std::isfinite(value));
}

std::vector<std::vector<std::size_t>> variables_of_nodes(const ValueGraph& graph) {
  std::vector<std::vector<std::size_t>> variables(graph.size());
  for (ValueGraph::Node node = 0; node < graph.size(); ++node) {
    if (graph.operation(node) == Operation::variable) {
      variables[node] = {graph.variable_index(node)};
    }
    for (const auto operand : graph.operands(node)) {
      std::vector<std::size_t> both;
      std::ranges::set_union(variables[node], variables[operand], std::back_inserter(both));
      variables[node] = std::move(both);
    }
  }
  return variables;
}

void apply_single_rules(LevelProblem& problem) {
  const auto variables = variables_of_nodes(problem.graph);
  std::erase_if(problem.rules, [&](const LevelRule& rule) {
    if (variables[rule.node].size() != 1) return false;
    const std::size_t index = variables[rule.node].front();
    LevelVariable& variable = problem.variables[index];
    if (variable.level) return false;
    const auto values = evaluated(problem.graph, rule.node, variable.values);
    std::erase_if(variable.open, [&](std::int32_t level) {
      return !rule_allows(rule.truth, values[static_cast<std::size_t>(level)]);
    });
    return true;
  });
}

std::vector<std::vector<std::size_t>> independent_groups(const LevelProblem& problem) {
  const auto variables = variables_of_nodes(problem.graph);
  Ties ties(problem.variables.size());
  for (const LevelRule& rule : problem.rules) {
    for (const std::size_t each : variables[rule.node]) ties.tie(variables[rule.node][0], each);
  }
  for (std::size_t i = 0; i < problem.variables.size(); ++i) {
    for (const auto& node : {problem.variables[i].when, problem.variables[i].level}) {
      if (!node) continue;
      for (const std::size_t each : variables[*node]) ties.tie(i, each);
    }
  }
  std::vector<std::vector<std::size_t>> groups;
  std::vector<std::size_t> group_of_root(problem.variables.size());
  for (std::size_t i = 0; i < problem.variables.size(); ++i) {
    const std::size_t root = ties.root(i);  // the first of its group
    if (root == i) {
      group_of_root[i] = groups.size();
      groups.emplace_back();
    }
    groups[group_of_root[root]].push_back(i);
  }
  return groups;
}

}  // namespace slurmtune
