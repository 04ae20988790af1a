// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/core.h>

#include "slurmtune/space/level_problem.hpp"
#include "slurmtune/space/row_table.hpp"
#include "slurmtune/space/state_bounds.hpp"

namespace slurmtune {

namespace {

using Node = ValueGraph::Node;

constexpr std::size_t rows_at_once = 1U << 15U;  // their columns stay in the cache
constexpr std::size_t bytes_max = std::size_t{700} << 20U;
constexpr std::size_t unbound = std::numeric_limits<std::size_t>::max();

/// What is done when one variable is bound.
struct Step {
  std::size_t variable = 0;
  std::vector<LevelRule> rules;  // decided now, cheap ones first
  std::vector<Node> open;        // of rules that are decided later, but partly bound
  std::vector<Node> kept;  // values that later steps need: all that they can see of this state
};

/// Values of nodes for some states, each with some levels of the variable that is bound; a node is
/// evaluated when it is asked for, for those rows that are still allowed.
class Rows {
 public:
  Rows(const LevelProblem& problem, const std::vector<bool>& may_be_absent)
      : problem_(problem),
        may_be_absent_(may_be_absent),
        columns_(problem.graph.size()),
        given_(problem.graph.size(), nullptr) {}

  void start(std::size_t variable) {
    clear();
    variable_ = variable;
    std::ranges::fill(given_, nullptr);
  }
  /// A node whose values the states have.
  void give(Node node, const std::vector<double>& of_states) { given_[node] = &of_states; }

  void clear() {
    for (const Node node : computed_) columns_[node].clear();
    computed_.clear();
    states_.clear();
    levels_.clear();
  }
  void add(std::size_t state, std::int32_t level) {
    states_.push_back(static_cast<std::uint32_t>(state));
    levels_.push_back(level);
  }

  [[nodiscard]] std::size_t count() const { return states_.size(); }
  [[nodiscard]] std::uint32_t state(std::size_t row) const { return states_[row]; }
  [[nodiscard]] std::int32_t level(std::size_t row) const { return levels_[row]; }

  const std::vector<double>& column(Node node) {
    std::vector<double>& values = columns_[node];
    if (values.size() == count()) return values;
    values.resize(count());
    computed_.push_back(node);
    const ValueGraph& graph = problem_.graph;
    if (graph.operation(node) == Operation::number) {
      std::ranges::fill(values, graph.value(node));
    } else if (given_[node] != nullptr) {
      const std::vector<double>& source = *given_[node];
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = source[states_[i]];
    } else if (graph.operation(node) == Operation::variable) {
      SLURMTUNE_ASSERT(graph.variable_index(node) == variable_);
      const std::vector<double>& source = problem_.variables[variable_].values;
      for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = levels_[i] < 0 ? absent_value() : source[static_cast<std::size_t>(levels_[i])];
      }
    } else {
      evaluate(node, values);
    }
    return values;
  }

  void keep_allowed(const LevelRule& rule) {
    const std::vector<double>& values = column(rule.node);
    kept_.clear();
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (rule_allows(rule.truth, values[i])) kept_.push_back(static_cast<std::uint32_t>(i));
    }
    if (kept_.size() == count()) return;
    shrink(states_);
    shrink(levels_);
    for (const Node node : computed_) shrink(columns_[node]);
  }

 private:
  void evaluate(Node node, std::vector<double>& values) {
    std::vector<const double*> operands;
    for (const Node operand : problem_.graph.operands(node)) {
      operands.push_back(column(operand).data());
    }
    problem_.graph.evaluate(node, operands, values);
    if (!may_be_absent_[node]) return;
    for (const double* operand : operands) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (is_absent(operand[i])) values[i] = absent_value();
      }
    }
  }

  template <class T>
  void shrink(std::vector<T>& values) const {
    for (std::size_t i = 0; i < kept_.size(); ++i) values[i] = values[kept_[i]];
    values.resize(kept_.size());
  }

  const LevelProblem& problem_;
  const std::vector<bool>& may_be_absent_;
  std::size_t variable_ = 0;
  std::vector<std::uint32_t> states_;
  std::vector<std::int32_t> levels_;
  std::vector<std::vector<double>> columns_;  // by node
  std::vector<Node> computed_;
  std::vector<const std::vector<double>*> given_;
  std::vector<std::uint32_t> kept_;
};

/// Binds one variable after the other for all states at once.
class DiagramBuilder {
 public:
  DiagramBuilder(const LevelProblem& problem, const std::vector<std::size_t>& order,
                 std::uint64_t rows_left)
      : problem_(problem),
        order_(order),
        rows_left_(rows_left),
        variables_(variables_of_nodes(problem.graph)) {
    find_positions();
    plan_steps();
  }

  [[nodiscard]] Expected<BuiltDiagram> build() {
    Rows rows(problem_, may_be_absent_);
    States states{{}, 1, {0}};
    std::vector<Node> kept;
    std::vector<LevelDiagram::Layer> layers;
    for (const Step& step : steps_) {
      rows.start(step.variable);
      for (std::size_t i = 0; i < kept.size(); ++i) rows.give(kept[i], states.columns[i]);
      RowTable next(step.kept.size());
      LevelDiagram::Layer layer;
      const std::size_t levels = problem_.variables[step.variable].open.size();
      if (states.count * levels > rows_left_) return BuiltDiagram{};
      rows_left_ -= states.count * levels;
      SLURMTUNE_CHECK(bind(step, states, rows, next, layer));
      held_bytes_ += layer.edges.size() * sizeof(LevelDiagram::Edge) +
                     layer.first.size() * sizeof(std::uint64_t);
      layers.push_back(std::move(layer));
      states = next.take();
      kept = step.kept;
      states.dead.assign(states.count, 0);
      mark_dead_states(problem_, step.open, {states.count, kept, states.columns}, states.dead);
    }
    SLURMTUNE_TRY(auto diagram, LevelDiagram::reduce(std::move(layers)));
    return BuiltDiagram{true, std::move(diagram)};
  }

 private:
  // Where the last variable of each node is in the order; numbers have none.
  void find_positions() {
    std::vector<std::size_t> of_variable(problem_.variables.size(), unbound);
    for (std::size_t i = 0; i < order_.size(); ++i) of_variable[order_[i]] = i;
    may_be_absent_.resize(problem_.graph.size());
    positions_.assign(problem_.graph.size(), unbound);
    for (Node node = 0; node < problem_.graph.size(); ++node) {
      if (variables_[node].empty()) continue;
      std::size_t last = 0;
      for (const std::size_t each : variables_[node]) {
        last = std::max(last, of_variable[each]);  // unbound if it is of another group
        const LevelVariable& variable = problem_.variables[each];
        if (variable.when || variable.level) may_be_absent_[node] = true;
      }
      positions_[node] = last;
    }
  }

  void plan_steps() {
    std::vector<std::size_t> last_use(problem_.graph.size(), 0);
    steps_.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) steps_[i].variable = order_[i];
    std::vector<bool> wanted(problem_.graph.size());
    for (const LevelRule& rule : problem_.rules) {
      if (positions_[rule.node] == unbound) continue;
      steps_[positions_[rule.node]].rules.push_back(rule);
      if (!may_be_absent_[rule.node]) mark_open(rule.node);
      wanted[rule.node] = true;
    }
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const LevelVariable& variable = problem_.variables[order_[i]];
      for (const auto& node : {variable.when, variable.level}) {
        if (!node || positions_[*node] == unbound) continue;
        SLURMTUNE_ASSERT(positions_[*node] < i);
        wanted[*node] = true;
        last_use[*node] = std::max(last_use[*node], i);
      }
    }
    // A node is evaluated where its last variable is bound, from what was kept until then.
    for (auto node = static_cast<Node>(problem_.graph.size()); node-- > 0;) {
      if (!wanted[node]) continue;
      for (const Node operand : problem_.graph.operands(node)) {
        wanted[operand] = true;
        if (positions_[operand] != unbound) {
          last_use[operand] = std::max(last_use[operand], positions_[node]);
        }
      }
    }
    for (Node node = 0; node < problem_.graph.size(); ++node) {
      if (!wanted[node] || positions_[node] == unbound) continue;
      for (std::size_t i = positions_[node]; i < last_use[node]; ++i) {
        steps_[i].kept.push_back(node);
      }
    }
    for (Step& step : steps_) {
      std::ranges::stable_sort(
          step.rules, {}, [this](const LevelRule& rule) { return variables_[rule.node].size(); });
    }
  }

  // Steps from the first variable of a rule to the last but one.
  void mark_open(Node rule) {
    for (std::size_t i = 0; i < positions_[rule]; ++i) {
      const bool begun = std::ranges::any_of(variables_[rule], [&](std::size_t variable) {
        const auto place = std::ranges::find(order_, variable);
        return static_cast<std::size_t>(place - order_.begin()) <= i;
      });
      if (begun) steps_[i].open.push_back(rule);
    }
  }

  // The rows of a state: a level each, or the one that it must have.
  void add_rows(const Step& step, std::size_t state, Rows& rows, const double* when,
                const double* level) const {
    const LevelVariable& variable = problem_.variables[step.variable];
    if (when != nullptr && (is_absent(*when) || !rule_allows(Truth::finite, *when))) {
      rows.add(state, -1);
    } else if (level != nullptr) {
      if (is_absent(*level)) rows.add(state, -1);
      if (!std::isnan(*level)) rows.add(state, static_cast<std::int32_t>(*level));
    } else {
      for (const std::int32_t each : variable.open) rows.add(state, each);
    }
  }

  [[nodiscard]] Expected<void> bind(const Step& step, const States& states, Rows& rows,
                                    RowTable& next, LevelDiagram::Layer& layer) {
    const LevelVariable& variable = problem_.variables[step.variable];
    const std::size_t at_once =
        std::max<std::size_t>(1, rows_at_once / std::max<std::size_t>(1, variable.values.size()));
    layer.first.reserve(states.count + 1);
    std::vector<const double*> columns(step.kept.size());
    for (std::size_t begin = 0; begin < states.count; begin += at_once) {
      const std::size_t end = std::min(states.count, begin + at_once);
      // Conditions are known of the states alone: one row each first.
      std::vector<double> when;
      std::vector<double> level;
      const auto fill = [&](const std::optional<Node>& node, std::vector<double>& values) {
        if (!node) return;
        rows.clear();
        for (std::size_t state = begin; state < end; ++state) rows.add(state, -1);
        values = rows.column(*node);
      };
      fill(variable.when, when);
      fill(variable.level, level);
      rows.clear();
      for (std::size_t state = begin; state < end; ++state) {
        if (states.dead[state] != 0) continue;
        add_rows(step, state, rows, when.empty() ? nullptr : &when[state - begin],
                 level.empty() ? nullptr : &level[state - begin]);
      }
      for (const LevelRule& rule : step.rules) rows.keep_allowed(rule);
      for (std::size_t i = 0; i < step.kept.size(); ++i) {
        columns[i] = rows.column(step.kept[i]).data();
      }
      std::size_t row = 0;
      for (std::size_t state = begin; state < end; ++state) {
        for (; row < rows.count() && rows.state(row) == state; ++row) {
          layer.edges.push_back({rows.level(row), next.number(columns, row)});
        }
        layer.first.push_back(layer.edges.size());
      }
      SLURMTUNE_CHECK(check_memory(step, layer, next));
    }
    return {};
  }

  [[nodiscard]] Expected<void> check_memory(const Step& step, const LevelDiagram::Layer& layer,
                                            const RowTable& next) const {
    const std::size_t edges = layer.edges.size() * sizeof(LevelDiagram::Edge);
    if (held_bytes_ + edges + next.bytes() <= bytes_max) return {};
    return invalid_input(fmt::format(
        "the constraints tie \"{}\" to too many combinations of other parameters to hold them in "
        "memory; write fewer values, or constraints of fewer parameters",
        problem_.variables[step.variable].name));
  }

  const LevelProblem& problem_;
  const std::vector<std::size_t>& order_;
  std::uint64_t rows_left_;
  std::vector<std::vector<std::size_t>> variables_;  // by node
  std::vector<bool> may_be_absent_;                  // by node
  std::vector<std::size_t> positions_;               // by node
  std::vector<Step> steps_;
  std::size_t held_bytes_ = 0;
};

}  // namespace

Expected<BuiltDiagram> build_diagram(const LevelProblem& problem,
                                     const std::vector<std::size_t>& order,
                                     std::uint64_t rows_max) {
  return DiagramBuilder(problem, order, rows_max).build();
}

}  // namespace slurmtune
