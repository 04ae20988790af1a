// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "slurmtune/space/expression.hpp"

namespace slurmtune {

/// The value of a parameter that is not there: a NaN that no arithmetic makes. What is computed
/// from it is absent, too.
[[nodiscard]] double absent_value();
[[nodiscard]] bool is_absent(double value);

/// Expressions as one graph: what two of them have in common is one node, computed once, and what a
/// part of the variables decides is a node of its own. Nodes are evaluated for many rows at once.
class ValueGraph {
 public:
  using Node = std::uint32_t;
  using Function = std::function<double(const double*)>;

  /// Nodes are made by these; equal ones are the same node, and what depends on no variable is a
  /// number at once.
  [[nodiscard]] Node number(double value);
  [[nodiscard]] Node variable(std::size_t index);
  [[nodiscard]] Node apply(Operation operation, std::vector<Node> operands);
  /// `id`: equal for equal functions.
  [[nodiscard]] Node call(Function function, const void* id, std::vector<Node> operands);
  /// Every name of the expression must be among `names`. The expression must outlive the graph.
  [[nodiscard]] Node add(const Expression& expression, const std::map<std::string, Node>& names);

  [[nodiscard]] std::size_t size() const { return nodes_.size(); }
  [[nodiscard]] Operation operation(Node node) const { return nodes_[node].operation; }
  /// Of a `number`.
  [[nodiscard]] double value(Node node) const { return nodes_[node].number; }
  /// Of a `variable`.
  [[nodiscard]] std::size_t variable_index(Node node) const { return nodes_[node].variable; }
  /// They are made before it: their numbers are smaller.
  [[nodiscard]] std::span<const Node> operands(Node node) const { return nodes_[node].operands; }

  /// Evaluates a node that is neither number nor variable: out[i] of the i-th values of its
  /// operands.
  void evaluate(Node node, std::span<const double* const> operands, std::span<double> out) const;

 private:
  struct NodeData {
    Operation operation = Operation::number;
    double number = 0.0;
    std::size_t variable = 0;
    std::vector<Node> operands = {};
    Function function = nullptr;
  };
  using Key = std::tuple<Operation, std::uint64_t, const void*, std::vector<Node>>;

  Node intern(NodeData data, const void* id);

  std::vector<NodeData> nodes_;
  std::map<Key, Node> known_;
};

}  // namespace slurmtune
