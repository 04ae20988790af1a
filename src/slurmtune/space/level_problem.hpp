// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/space/level_diagram.hpp"
#include "slurmtune/space/value_graph.hpp"

namespace slurmtune {

/// A parameter as rules see it.
struct LevelVariable {
  std::string name;
  std::vector<double> values;             ///< by level
  std::vector<std::int32_t> open;         ///< levels that rules of no other variable allow
  std::optional<ValueGraph::Node> when;   ///< there only where it is true (rule_holds)
  std::optional<ValueGraph::Node> level;  ///< its one level follows from other variables: a whole
                                          ///< number, absent_value(), or NaN = no level is valid
};

/// When the value of a rule's node counts as true.
enum class Truth {
  finite,    ///< a finite number other than 0: a whole constraint
  non_zero,  ///< any number other than 0: one side of `&&`, as the operator has it
};

/// What must be true of the variables. A rule that speaks of one that is absent says nothing.
struct LevelRule {
  ValueGraph::Node node = 0;
  Truth truth = Truth::finite;
};

/// Which levels are valid together.
struct LevelProblem {
  ValueGraph graph;
  std::vector<LevelVariable> variables;
  std::vector<LevelRule> rules;
};

/// Takes the rules of one variable alone into `open`, which has all levels until then.
void apply_single_rules(LevelProblem& problem);

/// Whether a rule allows a value of its node.
[[nodiscard]] bool rule_allows(Truth truth, double value);

/// The variables that each node depends on, sorted, by node.
[[nodiscard]] std::vector<std::vector<std::size_t>> variables_of_nodes(const ValueGraph& graph);

/// Variables that a rule, a condition or a derived level ties together, directly or by others; the
/// groups and their members in the order of the variables.
[[nodiscard]] std::vector<std::vector<std::size_t>> independent_groups(const LevelProblem& problem);

/// The order in which a group's variables are bound: that with the fewest partial combinations to
/// be looked at, as far as estimates say. Variables come after those that their conditions and
/// derived levels speak of.
[[nodiscard]] std::vector<std::size_t> binding_order(const LevelProblem& problem,
                                                     const std::vector<std::size_t>& group);

/// What became of building a diagram.
struct BuiltDiagram {
  bool complete = false;  ///< false: it would have been more work than was allowed
  LevelDiagram diagram;
};

/// The valid combinations of the variables in `order`, a whole group; rules of other variables are
/// not looked at. Partial combinations that the rest of the rules cannot tell apart are followed
/// once. Given up if more than `rows_max` partial combinations would have to be looked at. Errors:
/// invalid_input if there are more than memory should hold, or 2^63 combinations; without a place.
[[nodiscard]] Expected<BuiltDiagram> build_diagram(
    const LevelProblem& problem, const std::vector<std::size_t>& order,
    std::uint64_t rows_max = std::numeric_limits<std::uint64_t>::max());

}  // namespace slurmtune
