// SPDX-License-Identifier: MIT
#include "slurmtune/space/value_graph.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

namespace slurmtune {

namespace {

constexpr std::uint64_t absent_bits = 0x7ff8'5155'ab5e'0000U;

template <class Compute>
void fill_two(std::span<const double* const> operands, std::span<double> out, Compute compute) {
  const double* const a = operands[0];
  const double* const b = operands[1];
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = compute(a[i], b[i]);
}

double flag(bool holds) { return holds ? 1.0 : 0.0; }

// As Expression's %, for columns.
double remainder_of(double a, double b) {
  constexpr double exact = 2147483648.0;
  if (a >= 0.0 && a < exact && b >= 1.0 && b < exact) {
    const auto whole_a = static_cast<std::uint32_t>(a);
    const auto whole_b = static_cast<std::uint32_t>(b);
    if (static_cast<double>(whole_a) == a && static_cast<double>(whole_b) == b) {
      return static_cast<double>(whole_a % whole_b);
    }
  }
  return std::fmod(a, b);
}

void fill_calls(const ValueGraph::Function& function, std::span<const double* const> operands,
                std::span<double> out) {
  std::vector<double> values(operands.size());
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t j = 0; j < operands.size(); ++j) values[j] = operands[j][i];
    out[i] = function(values.data());
  }
}

void fill(Operation operation, const ValueGraph::Function& function,
          std::span<const double* const> in, std::span<double> out) {
  using std::size_t;
  switch (operation) {
    case Operation::number:
    case Operation::variable: return;
    case Operation::less_equal:
      return fill_two(in, out, [](double a, double b) { return flag(a <= b); });
    case Operation::greater_equal:
      return fill_two(in, out, [](double a, double b) { return flag(a >= b); });
    case Operation::not_equal:
      return fill_two(in, out, [](double a, double b) { return flag(a != b); });
    case Operation::equal:
      return fill_two(in, out, [](double a, double b) { return flag(a == b); });
    case Operation::less: return fill_two(in, out, [](double a, double b) { return flag(a < b); });
    case Operation::greater:
      return fill_two(in, out, [](double a, double b) { return flag(a > b); });
    case Operation::add: return fill_two(in, out, [](double a, double b) { return a + b; });
    case Operation::subtract: return fill_two(in, out, [](double a, double b) { return a - b; });
    case Operation::multiply: return fill_two(in, out, [](double a, double b) { return a * b; });
    case Operation::divide: return fill_two(in, out, [](double a, double b) { return a / b; });
    case Operation::power:
      return fill_two(in, out, [](double a, double b) { return std::pow(a, b); });
    case Operation::remainder: return fill_two(in, out, remainder_of);
    case Operation::logical_and:
      return fill_two(in, out, [](double a, double b) { return flag(a != 0.0 && b != 0.0); });
    case Operation::logical_or:
      return fill_two(in, out, [](double a, double b) { return flag(a != 0.0 || b != 0.0); });
    case Operation::logical_not:
      for (size_t i = 0; i < out.size(); ++i) out[i] = flag(in[0][i] == 0.0);
      return;
    case Operation::select:
      for (size_t i = 0; i < out.size(); ++i) out[i] = in[0][i] != 0.0 ? in[1][i] : in[2][i];
      return;
    case Operation::call: return fill_calls(function, in, out);
  }
}

}  // namespace

double absent_value() { return std::bit_cast<double>(absent_bits); }

bool is_absent(double value) { return std::bit_cast<std::uint64_t>(value) == absent_bits; }

ValueGraph::Node ValueGraph::intern(NodeData data, const void* id) {
  const std::uint64_t bits = data.operation == Operation::variable
                                 ? data.variable
                                 : std::bit_cast<std::uint64_t>(data.number);
  const auto next = static_cast<Node>(nodes_.size());
  const auto [place, is_new] = known_.try_emplace({data.operation, bits, id, data.operands}, next);
  if (is_new) nodes_.push_back(std::move(data));
  return place->second;
}

ValueGraph::Node ValueGraph::number(double value) {
  return intern({.operation = Operation::number, .number = value}, nullptr);
}

ValueGraph::Node ValueGraph::variable(std::size_t index) {
  return intern({.operation = Operation::variable, .variable = index}, nullptr);
}

ValueGraph::Node ValueGraph::apply(Operation operation, std::vector<Node> operands) {
  const bool fixed = std::ranges::all_of(
      operands, [this](Node each) { return nodes_[each].operation == Operation::number; });
  if (fixed) {
    std::vector<double> values;
    for (const Node each : operands) values.push_back(nodes_[each].number);
    std::vector<const double*> columns;
    for (const double& each : values) columns.push_back(&each);
    double result = 0.0;
    fill(operation, {}, columns, {&result, 1});
    return number(result);
  }
  return intern({.operation = operation, .operands = std::move(operands)}, nullptr);
}

ValueGraph::Node ValueGraph::call(Function function, const void* id, std::vector<Node> operands) {
  return intern({.operation = Operation::call,
                 .operands = std::move(operands),
                 .function = std::move(function)},
                id);
}

ValueGraph::Node ValueGraph::add(const Expression& expression,
                                 const std::map<std::string, Node>& names) {
  std::vector<Node> stack;
  for (ExpressionStep& step : expression.steps()) {
    if (step.operation == Operation::number) {
      stack.push_back(number(step.number));
      continue;
    }
    if (step.operation == Operation::variable) {
      stack.push_back(names.at(expression.variables()[step.variable]));
      continue;
    }
    SLURMTUNE_ASSERT(stack.size() >= step.arity);
    const auto first = stack.end() - static_cast<std::ptrdiff_t>(step.arity);
    std::vector<Node> operands(first, stack.end());
    stack.erase(first, stack.end());
    stack.push_back(step.operation == Operation::call
                        ? call(std::move(step.function), step.function_id, std::move(operands))
                        : apply(step.operation, std::move(operands)));
  }
  SLURMTUNE_ASSERT(stack.size() == 1);
  return stack.front();
}

void ValueGraph::evaluate(Node node, std::span<const double* const> operands,
                          std::span<double> out) const {
  fill(nodes_[node].operation, nodes_[node].function, operands, out);
}

}  // namespace slurmtune
