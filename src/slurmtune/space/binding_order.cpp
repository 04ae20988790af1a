// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <bitset>
#include <cmath>
#include <cstdint>
#include <map>
#include <utility>

#include "slurmtune/base/random.hpp"
#include "slurmtune/space/level_problem.hpp"

namespace slurmtune {

namespace {

using Node = ValueGraph::Node;
using Members = std::uint64_t;  // a set of the group's variables

constexpr std::size_t samples = 256;
constexpr std::size_t beam_width = 32;
constexpr std::size_t listed_values_max = 1024;
constexpr std::size_t listed_pairs_max = 1U << 14U;

/// A node that rules need, and who needs it.
struct NodeUse {
  Members members = 0;         // variables that it depends on
  double values = 1.0;         // how many it can take, at most
  std::vector<Members> users;  // variables after which it is no longer needed
};

/// A rule, and which of the samples it allows.
struct RuleUse {
  Members members = 0;
  std::bitset<samples> allowed;
};

/// A way to bind some variables first.
struct Prefix {
  Members members = 0;
  double cost = 0.0;
  std::vector<std::size_t> order;  // places in the group
};

/// What a group's graph tells of the work that an order makes.
class OrderEstimate {
 public:
  OrderEstimate(const LevelProblem& problem, const std::vector<std::size_t>& group)
      : problem_(problem), group_(group) {
    const auto variables = variables_of_nodes(problem.graph);
    place_.assign(problem.variables.size(), group.size());
    for (std::size_t i = 0; i < group.size(); ++i) place_[group[i]] = i;
    find_uses(variables);
    list_values();
    take_samples();
    find_after(variables);
  }

  /// Variables that must be bound before the one at that place.
  [[nodiscard]] Members after(std::size_t place) const { return after_[place]; }
  [[nodiscard]] double levels(std::size_t place) const {
    const LevelVariable& variable = problem_.variables[group_[place]];
    return variable.level ? 1.0
                          : static_cast<double>(std::max<std::size_t>(1, variable.open.size()));
  }

  /// How many partial combinations there are that later rules can tell apart.
  [[nodiscard]] double states(Members bound) const {
    double all = 1.0;
    for (std::size_t i = 0; i < group_.size(); ++i) {
      if ((bound >> i & 1U) != 0) all *= levels(i);
    }
    std::bitset<samples> allowed;
    allowed.set();
    for (const RuleUse& rule : rules_) {
      if ((rule.members & ~bound) == 0) allowed &= rule.allowed;
    }
    all *= (static_cast<double>(allowed.count()) + 0.5) / (static_cast<double>(samples) + 0.5);
    double seen = 1.0;
    for (const NodeUse* use : uses_) {
      const bool alive =
          (use->members & ~bound) == 0 &&
          std::ranges::any_of(use->users, [&](Members user) { return (user & ~bound) != 0; });
      if (alive) seen *= use->values;
      if (seen >= all) return std::max(1.0, all);
    }
    return std::max(1.0, std::min(seen, all));
  }

 private:
  [[nodiscard]] Members members_of(const std::vector<std::size_t>& variables) const {
    Members members = 0;
    for (const std::size_t each : variables) {
      if (place_[each] < group_.size()) members |= Members{1} << place_[each];
    }
    return members;
  }

  void find_uses(const std::vector<std::vector<std::size_t>>& variables) {
    const auto use = [&](Node node, Members user) {
      if (variables[node].empty() || place_[variables[node][0]] == group_.size()) return;
      NodeUse& entry = by_node_[node];
      entry.members = members_of(variables[node]);
      entry.users.push_back(user);
    };
    for (const LevelRule& rule : problem_.rules) use(rule.node, 0);
    for (const std::size_t each : group_) {
      for (const auto& node : {problem_.variables[each].when, problem_.variables[each].level}) {
        if (node) use(*node, Members{1} << place_[each]);
      }
    }
    // Operands have smaller numbers.
    for (auto node = static_cast<Node>(problem_.graph.size()); node-- > 0;) {
      const auto found = by_node_.find(node);
      if (found == by_node_.end()) continue;
      const Members members = found->second.members;
      for (const Node operand : problem_.graph.operands(node)) use(operand, members);
    }
    for (const auto& [node, entry] : by_node_) uses_.push_back(&entry);
  }

  [[nodiscard]] std::vector<double> values_of_pairs(Node node, const std::vector<double>& first,
                                                    const std::vector<double>& second) const {
    std::vector<double> left;
    std::vector<double> right;
    for (const double a : first) {
      left.insert(left.end(), second.size(), a);
      right.insert(right.end(), second.begin(), second.end());
    }
    std::vector<double> values(left.size());
    const std::array<const double*, 2> columns{left.data(), right.data()};
    problem_.graph.evaluate(node, columns, values);
    return values;
  }

  // The values that nodes can take if their operands do not depend on each other.
  void list_values() {
    std::map<Node, std::vector<double>> listed;
    for (auto& [node, use] : by_node_) {
      const ValueGraph& graph = problem_.graph;
      std::vector<double> values;
      double combinations = 1.0;
      for (std::size_t i = 0; i < group_.size(); ++i) {
        if ((use.members >> i & 1U) != 0) combinations *= levels(i);
      }
      use.values = combinations;
      const auto operands = graph.operands(node);
      const auto values_of = [&](Node operand) {
        return graph.operation(operand) == Operation::number
                   ? std::vector<double>{graph.value(operand)}
                   : listed[operand];
      };
      if (graph.operation(node) == Operation::variable) {
        const LevelVariable& own = problem_.variables[graph.variable_index(node)];
        for (const std::int32_t level : own.open) {
          values.push_back(own.values[static_cast<std::size_t>(level)]);
        }
      } else if (operands.size() == 2) {
        const auto first = values_of(operands[0]);
        const auto second = values_of(operands[1]);
        if (first.size() * second.size() <= listed_pairs_max) {
          values = values_of_pairs(node, first, second);
        }
      }
      std::erase_if(values, [](double value) { return std::isnan(value); });
      std::ranges::sort(values);
      values.erase(std::ranges::unique(values).begin(), values.end());
      if (values.empty()) continue;
      use.values = std::min(use.values, static_cast<double>(values.size()));
      if (values.size() <= listed_values_max) listed[node] = std::move(values);
    }
  }

  void take_samples() {
    Random chance(Seed{1});
    std::map<Node, std::vector<double>> columns;
    for (const LevelRule& rule : problem_.rules) {
      const auto found = by_node_.find(rule.node);
      if (found == by_node_.end()) continue;
      const auto& column = sampled(rule.node, columns, chance);
      RuleUse use{found->second.members, {}};
      for (std::size_t i = 0; i < samples; ++i) use.allowed[i] = rule_allows(rule.truth, column[i]);
      rules_.push_back(use);
    }
  }

  std::vector<double> sampled_variable(std::size_t index,
                                       std::map<Node, std::vector<double>>& columns,
                                       Random& chance) {
    const LevelVariable& variable = problem_.variables[index];
    std::vector<double> values(samples, absent_value());
    std::vector<double> when(samples, 1.0);
    if (variable.when) when = sampled(*variable.when, columns, chance);
    std::vector<double> level;
    if (variable.level) level = sampled(*variable.level, columns, chance);
    for (std::size_t i = 0; i < samples; ++i) {
      if (is_absent(when[i]) || !rule_allows(Truth::finite, when[i])) continue;
      if (variable.open.empty()) continue;
      if (level.empty()) {
        const auto drawn = variable.open[chance.below(variable.open.size())];
        values[i] = variable.values[static_cast<std::size_t>(drawn)];
      } else if (!std::isnan(level[i])) {
        values[i] = variable.values[static_cast<std::size_t>(level[i])];
      }
    }
    return values;
  }

  const std::vector<double>& sampled(Node node, std::map<Node, std::vector<double>>& columns,
                                     Random& chance) {
    if (const auto found = columns.find(node); found != columns.end()) return found->second;
    const ValueGraph& graph = problem_.graph;
    std::vector<double> values(samples);
    if (graph.operation(node) == Operation::number) {
      std::ranges::fill(values, graph.value(node));
    } else if (graph.operation(node) == Operation::variable) {
      values = sampled_variable(graph.variable_index(node), columns, chance);
    } else {
      std::vector<const double*> operands;
      for (const Node operand : graph.operands(node)) {
        operands.push_back(sampled(operand, columns, chance).data());
      }
      graph.evaluate(node, operands, values);
      for (const double* operand : operands) {
        for (std::size_t i = 0; i < samples; ++i) {
          if (is_absent(operand[i])) values[i] = absent_value();
        }
      }
    }
    return columns.emplace(node, std::move(values)).first->second;
  }

  void find_after(const std::vector<std::vector<std::size_t>>& variables) {
    after_.assign(group_.size(), 0);
    for (std::size_t i = 0; i < group_.size(); ++i) {
      const LevelVariable& variable = problem_.variables[group_[i]];
      for (const auto& node : {variable.when, variable.level}) {
        if (node) after_[i] |= members_of(variables[*node]);
      }
    }
  }

  const LevelProblem& problem_;
  const std::vector<std::size_t>& group_;
  std::vector<std::size_t> place_;  // in the group, by variable; the group's size = not in it
  std::map<Node, NodeUse> by_node_;
  std::vector<const NodeUse*> uses_;
  std::vector<RuleUse> rules_;
  std::vector<Members> after_;
};

// The best ways to bind one variable more.
std::vector<Prefix> extended(const OrderEstimate& estimate, const std::vector<Prefix>& beam,
                             std::size_t count) {
  std::map<Members, Prefix> best;
  for (const Prefix& prefix : beam) {
    const double states = estimate.states(prefix.members);
    for (std::size_t i = 0; i < count; ++i) {
      const Members member = Members{1} << i;
      if ((prefix.members & member) != 0 || (estimate.after(i) & ~prefix.members) != 0) continue;
      const double cost = prefix.cost + states * estimate.levels(i);
      const auto [place, is_new] = best.try_emplace(prefix.members | member);
      if (!is_new && place->second.cost <= cost) continue;
      place->second = {prefix.members | member, cost, prefix.order};
      place->second.order.push_back(i);
    }
  }
  std::vector<Prefix> next;
  for (auto& [members, prefix] : best) next.push_back(std::move(prefix));
  // What is kept should be cheap so far and leave little to go on with.
  std::vector<double> outlook;
  for (Prefix& prefix : next) outlook.push_back(prefix.cost + estimate.states(prefix.members));
  std::vector<std::size_t> ranks(next.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) ranks[i] = i;
  std::ranges::stable_sort(ranks, {}, [&](std::size_t i) { return outlook[i]; });
  if (ranks.size() > beam_width) ranks.resize(beam_width);
  std::vector<Prefix> kept;
  for (const std::size_t i : ranks) kept.push_back(std::move(next[i]));
  return kept;
}

}  // namespace

std::vector<std::size_t> binding_order(const LevelProblem& problem,
                                       const std::vector<std::size_t>& group) {
  // Beyond that the order of the study, which has conditions after what they speak of.
  if (group.size() < 2 || group.size() > 64) return group;
  const OrderEstimate estimate(problem, group);
  std::vector<Prefix> beam{Prefix{}};
  for (std::size_t i = 0; i < group.size(); ++i) beam = extended(estimate, beam, group.size());
  const auto best = std::ranges::min_element(beam, {}, &Prefix::cost);
  std::vector<std::size_t> order;
  for (const std::size_t place : best->order) order.push_back(group[place]);
  return order;
}

}  // namespace slurmtune
