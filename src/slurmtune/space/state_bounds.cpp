// SPDX-License-Identifier: MIT
#include "slurmtune/space/state_bounds.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

namespace slurmtune {

namespace {

using Node = ValueGraph::Node;

constexpr std::size_t states_at_once = 4096;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// What a node can be. Bounds that are NaN: anything, also no number.
struct Bounds {
  double low = 0.0;
  double high = 0.0;

  [[nodiscard]] bool known() const { return low <= high; }
};

constexpr Bounds unknown{std::numeric_limits<double>::quiet_NaN(), 0.0};
constexpr Bounds truth{0.0, 1.0};

Bounds flag(bool surely, bool possibly) { return {surely ? 1.0 : 0.0, possibly ? 1.0 : 0.0}; }

Bounds add(Bounds a, Bounds b) { return {a.low + b.low, a.high + b.high}; }
Bounds subtract(Bounds a, Bounds b) { return {a.low - b.high, a.high - b.low}; }

Bounds of_corners(double a, double b, double c, double d) {
  if (std::isnan(a) || std::isnan(b) || std::isnan(c) || std::isnan(d)) return unknown;
  const auto [low, high] = std::minmax({a, b, c, d});
  return {low, high};
}
Bounds multiply(Bounds a, Bounds b) {
  return of_corners(a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high);
}
Bounds divide(Bounds a, Bounds b) {
  if (b.low <= 0.0 && b.high >= 0.0) return unknown;
  return of_corners(a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high);
}
Bounds remainder_of(Bounds a, Bounds b) {
  if (a.low < 0.0 || b.low <= 0.0 || a.high == infinity) return unknown;
  return {0.0, std::min(a.high, b.high)};
}

Bounds less_equal(Bounds a, Bounds b) { return flag(a.high <= b.low, a.low <= b.high); }
Bounds less(Bounds a, Bounds b) { return flag(a.high < b.low, a.low < b.high); }
Bounds equal(Bounds a, Bounds b) {
  const bool fixed = a.low == a.high && b.low == b.high;
  return flag(fixed && a.low == b.low, a.low <= b.high && b.low <= a.high);
}
Bounds negated(Bounds a) { return {1.0 - a.high, 1.0 - a.low}; }

// As truth: whether it is surely or possibly not 0.
Bounds truth_of(Bounds a) {
  return flag(a.low > 0.0 || a.high < 0.0, !(a.low == 0.0 && a.high == 0.0));
}
Bounds both(Bounds a, Bounds b) { return {std::min(a.low, b.low), std::min(a.high, b.high)}; }
Bounds either(Bounds a, Bounds b) { return {std::max(a.low, b.low), std::max(a.high, b.high)}; }

Bounds select(Bounds condition, Bounds first, Bounds second) {
  const Bounds holds = condition.known() ? truth_of(condition) : truth;
  if (holds.low == 1.0) return first;
  if (holds.high == 0.0) return second;
  if (!first.known() || !second.known()) return unknown;
  return {std::min(first.low, second.low), std::max(first.high, second.high)};
}

// Of operations whose operands are both known.
Bounds of_known(Operation operation, Bounds a, Bounds b) {
  switch (operation) {
    case Operation::less_equal: return less_equal(a, b);
    case Operation::greater_equal: return less_equal(b, a);
    case Operation::less: return less(a, b);
    case Operation::greater: return less(b, a);
    case Operation::equal: return equal(a, b);
    case Operation::not_equal: return negated(equal(a, b));
    case Operation::add: return add(a, b);
    case Operation::subtract: return subtract(a, b);
    case Operation::multiply: return multiply(a, b);
    case Operation::divide: return divide(a, b);
    case Operation::remainder: return remainder_of(a, b);
    default: return unknown;
  }
}

Bounds bounds_of(Operation operation, std::span<const Bounds> in) {
  switch (operation) {
    case Operation::logical_and:
    case Operation::logical_or: {
      const Bounds a = in[0].known() ? truth_of(in[0]) : truth;
      const Bounds b = in[1].known() ? truth_of(in[1]) : truth;
      return operation == Operation::logical_and ? both(a, b) : either(a, b);
    }
    case Operation::logical_not: return in[0].known() ? negated(truth_of(in[0])) : truth;
    case Operation::select: return select(in[0], in[1], in[2]);
    case Operation::less_equal:
    case Operation::greater_equal:
    case Operation::less:
    case Operation::greater:
    case Operation::equal:
    case Operation::not_equal:
      if (!in[0].known() || !in[1].known()) return truth;
      return of_known(operation, in[0], in[1]);
    default: break;
  }
  if (in.size() != 2 || !in[0].known() || !in[1].known()) return unknown;
  return of_known(operation, in[0], in[1]);
}

/// Bounds of nodes for a few states at once; of what no state has a part in, for all alike.
class BoundsTable {
 public:
  BoundsTable(const LevelProblem& problem, const BoundStates& states)
      : problem_(problem), states_(states) {
    for (std::size_t i = 0; i < states.nodes.size(); ++i) place_of_[states.nodes[i]] = i;
  }

  void start(std::size_t begin, std::size_t end) {
    begin_ = begin;
    count_ = end - begin;
    columns_.clear();
  }

  /// One value, or one a state.
  const std::vector<Bounds>& of(Node node) {
    if (const auto found = columns_.find(node); found != columns_.end()) return found->second;
    if (const auto found = fixed_.find(node); found != fixed_.end()) return found->second;
    std::vector<Bounds> values = compute(node);
    auto& kept = values.size() == 1 && count_ != 1 ? fixed_ : columns_;
    return kept.emplace(node, std::move(values)).first->second;
  }

 private:
  std::vector<Bounds> compute(Node node) {
    const ValueGraph& graph = problem_.graph;
    std::vector<Bounds> values;
    if (graph.operation(node) == Operation::number) {
      const double number = graph.value(node);
      return {std::isnan(number) ? unknown : Bounds{number, number}};
    }
    if (const auto known = place_of_.find(node); known != place_of_.end()) {
      const std::vector<double>& column = states_.columns[known->second];
      for (std::size_t i = begin_; i < begin_ + count_; ++i) {
        values.push_back(std::isnan(column[i]) ? unknown : Bounds{column[i], column[i]});
      }
      return values;
    }
    if (graph.operation(node) == Operation::variable) {
      const LevelVariable& variable = problem_.variables[graph.variable_index(node)];
      if (variable.open.empty() || variable.level) return {unknown};
      Bounds bounds{infinity, -infinity};
      for (const std::int32_t level : variable.open) {
        const double value = variable.values[static_cast<std::size_t>(level)];
        bounds = {std::min(bounds.low, value), std::max(bounds.high, value)};
      }
      return {bounds};
    }
    return combine(node);
  }

  std::vector<Bounds> combine(Node node) {
    std::vector<const std::vector<Bounds>*> operands;
    std::size_t count = 1;
    for (const Node operand : problem_.graph.operands(node)) {
      operands.push_back(&of(operand));
      count = std::max(count, operands.back()->size());
    }
    if (operands.size() > 3) return {unknown};
    std::array<Bounds, 3> in;
    std::vector<Bounds> values(count);
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < operands.size(); ++j) {
        in[j] = (*operands[j])[operands[j]->size() == 1 ? 0 : i];
      }
      values[i] = bounds_of(problem_.graph.operation(node), {in.data(), operands.size()});
    }
    return values;
  }

  const LevelProblem& problem_;
  const BoundStates& states_;
  std::map<Node, std::size_t> place_of_;
  std::map<Node, std::vector<Bounds>> fixed_;
  std::map<Node, std::vector<Bounds>> columns_;
  std::size_t begin_ = 0;
  std::size_t count_ = 0;
};

}  // namespace

void mark_dead_states(const LevelProblem& problem, std::span<const Node> rules,
                      const BoundStates& states, std::vector<char>& dead) {
  if (rules.empty()) return;
  BoundsTable table(problem, states);
  for (std::size_t begin = 0; begin < states.count; begin += states_at_once) {
    const std::size_t end = std::min(states.count, begin + states_at_once);
    table.start(begin, end);
    for (const Node rule : rules) {
      const auto& bounds = table.of(rule);
      for (std::size_t i = begin; i < end; ++i) {
        const Bounds own = bounds[bounds.size() == 1 ? 0 : i - begin];
        if (own.low == 0.0 && own.high == 0.0) dead[i] = 1;
      }
    }
  }
}

}  // namespace slurmtune
