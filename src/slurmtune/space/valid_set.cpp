// SPDX-License-Identifier: MIT
#include "slurmtune/space/valid_set.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "slurmtune/space/level_diagram.hpp"
#include "slurmtune/space/space_rules.hpp"

namespace slurmtune {

namespace {

constexpr std::uint64_t size_max = (std::uint64_t{1} << 63U) - 1;
constexpr std::uint64_t little_work = 2048;  // rows of build_diagram
// Levels looked at to complete a neighbour whose change makes other parameters apply.
constexpr int completion_visits_max = 4096;

/// Parameters that are tied together, and their valid levels.
struct Group {
  std::vector<std::size_t> order;  // parameters, as the diagram has them
  LevelDiagram diagram;
  std::uint64_t stride = 1;  // of a step in this group's numbers
};

bool is_ordered(ParameterType type) {
  return type != ParameterType::categorical && type != ParameterType::boolean;
}

/// Looks for the valid combination of a group that has one level other than the present one.
class Move {
 public:
  Move(const std::vector<LevelParameter>& parameters, const Group& group, const Levels& from)
      : parameters_(parameters), group_(group), from_(from), levels_(group.order.size()) {
    for (std::size_t i = 0; i < group.order.size(); ++i) levels_[i] = from[group.order[i]];
  }

  /// The number in the group, if `level` at `place` can be had.
  [[nodiscard]] std::optional<std::uint64_t> to(std::size_t place, std::int32_t level) {
    std::uint32_t node = group_.diagram.root();
    for (std::size_t i = 0; i <= place; ++i) {
      levels_[i] = i == place ? level : from_[group_.order[i]];
      const auto* edge = edge_of(node, levels_[i]);
      if (edge == nullptr) return std::nullopt;
      node = edge->next;
    }
    visits_ = 0;
    if (!complete(node, place + 1)) return std::nullopt;
    return group_.diagram.rank(levels_);
  }

 private:
  [[nodiscard]] const LevelDiagram::Edge* edge_of(std::uint32_t node, std::int32_t level) const {
    const auto edges = group_.diagram.edges(node);
    const auto found = std::ranges::lower_bound(edges, level, {}, &LevelDiagram::Edge::level);
    return found != edges.end() && found->level == level ? &*found : nullptr;
  }

  [[nodiscard]] bool take(const LevelDiagram::Edge& edge, std::size_t place) {
    levels_[place] = edge.level;
    return complete(edge.next, place + 1);
  }

  [[nodiscard]] bool complete(std::uint32_t node, std::size_t place) {
    if (place == group_.order.size()) return true;
    if (++visits_ > completion_visits_max) return false;
    const std::size_t parameter = group_.order[place];
    const std::int32_t wanted = from_[parameter];
    if (const auto* same = edge_of(node, wanted)) return take(*same, place);
    const auto edges = group_.diagram.edges(node);
    const bool goes = edges.size() == 1 && edges.front().level < 0;
    const bool follows = parameters_[parameter].derived || wanted < 0;
    if (!goes && !follows) return false;
    return std::ranges::any_of(edges,
                               [&](const LevelDiagram::Edge& edge) { return take(edge, place); });
  }

  const std::vector<LevelParameter>& parameters_;
  const Group& group_;
  const Levels& from_;
  Levels levels_;
  int visits_ = 0;
};

/// Whether a rule that speaks of no variable is not true.
bool has_false_rule(const LevelProblem& problem) {
  return std::ranges::any_of(problem.rules, [&](const LevelRule& rule) {
    return problem.graph.operation(rule.node) == Operation::number &&
           !rule_allows(rule.truth, problem.graph.value(rule.node));
  });
}

// In the order of the study where that is little work, else in one that is worth looking for.
Expected<Group> group_of(const LevelProblem& problem, const std::vector<std::size_t>& members) {
  SLURMTUNE_TRY(BuiltDiagram built, build_diagram(problem, members, little_work));
  if (built.complete) return Group{members, std::move(built.diagram), 1};
  auto order = binding_order(problem, members);
  SLURMTUNE_TRY(built, build_diagram(problem, order));
  return Group{std::move(order), std::move(built.diagram), 1};
}

}  // namespace

struct ValidSet::Body {
  std::vector<LevelParameter> parameters;
  std::vector<Group> groups;
  std::uint64_t size = 1;

  /// Errors: invalid_input, without a place, if there are too many.
  [[nodiscard]] Expected<void> count() {
    size = 1;
    for (auto group = groups.rbegin(); group != groups.rend(); ++group) {
      group->stride = size;
      const std::uint64_t own = group->diagram.size();
      if (own == 0) {
        size = 0;
        return {};
      }
      if (size > size_max / own) {
        return invalid_input("2^63 valid configurations or more; write fewer values");
      }
      size *= own;
    }
    return {};
  }

  [[nodiscard]] static std::uint64_t number_in(const Group& group, std::uint64_t k) {
    return k / group.stride % group.diagram.size();
  }
};

/// Makes ValidSets; their only friend.
class ValidSetMaker {
 public:
  [[nodiscard]] static Expected<ValidSet> of_problem(std::vector<LevelParameter> parameters,
                                                     const LevelProblem& problem) {
    auto body = std::make_shared<ValidSet::Body>();
    body->parameters = std::move(parameters);
    if (has_false_rule(problem)) {
      body->size = 0;
      return ValidSet(std::move(body));
    }
    for (const auto& members : independent_groups(problem)) {
      SLURMTUNE_TRY(Group group, group_of(problem, members));
      body->groups.push_back(std::move(group));
      if (body->groups.back().diagram.size() == 0) break;
    }
    SLURMTUNE_CHECK(body->count());
    return ValidSet(std::move(body));
  }

  [[nodiscard]] static ValidSet of_rows(std::vector<LevelParameter> parameters,
                                        std::vector<Levels> rows) {
    SLURMTUNE_ASSERT(!parameters.empty());
    std::ranges::sort(rows);
    rows.erase(std::ranges::unique(rows).begin(), rows.end());
    auto body = std::make_shared<ValidSet::Body>();
    body->parameters = std::move(parameters);
    const std::size_t depth = body->parameters.size();
    std::vector<LevelDiagram::Layer> layers(depth);
    for (const Levels& row : rows) SLURMTUNE_ASSERT(row.size() == depth);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const auto& row = rows[i];
      const std::size_t same =
          i == 0
              ? 0
              : static_cast<std::size_t>(std::ranges::mismatch(row, rows[i - 1]).in1 - row.begin());
      for (std::size_t place = same; place < depth; ++place) {
        LevelDiagram::Layer& layer = layers[place];
        // Below the first difference every prefix is new, and begins a node.
        if (place > same && !layer.edges.empty()) layer.first.push_back(layer.edges.size());
        const std::size_t next = place + 1 < depth ? node_count(layers[place + 1]) : 0;
        layer.edges.push_back({row[place], static_cast<std::uint32_t>(next)});
      }
    }
    for (auto& layer : layers) layer.first.push_back(layer.edges.size());
    Group group;
    for (std::size_t i = 0; i < depth; ++i) group.order.push_back(i);
    group.diagram = *LevelDiagram::reduce(std::move(layers));
    body->groups.push_back(std::move(group));
    SLURMTUNE_ASSERT(body->count());
    return ValidSet(std::move(body));
  }

 private:
  // Nodes of a layer that are complete, and the one that is being filled: the number of the next.
  [[nodiscard]] static std::size_t node_count(const LevelDiagram::Layer& layer) {
    return layer.edges.empty() ? 0 : layer.first.size();
  }
};

ValidSet::ValidSet(std::shared_ptr<const Body> body) : body_(std::move(body)) {}

const std::vector<LevelParameter>& ValidSet::parameters() const { return body_->parameters; }

std::uint64_t ValidSet::size() const { return body_->size; }

Levels ValidSet::at(std::uint64_t k) const {
  SLURMTUNE_ASSERT(k < size());
  Levels levels(body_->parameters.size());
  Levels own;
  for (const Group& group : body_->groups) {
    own.resize(group.order.size());
    group.diagram.at(Body::number_in(group, k), own);
    for (std::size_t i = 0; i < own.size(); ++i) levels[group.order[i]] = own[i];
  }
  return levels;
}

std::optional<std::uint64_t> ValidSet::rank(std::span<const std::int32_t> levels) const {
  if (size() == 0 || levels.size() != body_->parameters.size()) return std::nullopt;
  std::uint64_t k = 0;
  Levels own;
  for (const Group& group : body_->groups) {
    own.resize(group.order.size());
    for (std::size_t i = 0; i < own.size(); ++i) own[i] = levels[group.order[i]];
    const auto number = group.diagram.rank(own);
    if (!number) return std::nullopt;
    k += *number * group.stride;
  }
  return k;
}

std::vector<std::uint64_t> ValidSet::neighbours(std::uint64_t k) const {
  const Levels from = at(k);
  std::vector<std::vector<std::uint64_t>> found(from.size());  // by parameter
  for (const Group& group : body_->groups) {
    const std::uint64_t rest = k - Body::number_in(group, k) * group.stride;
    Move move(body_->parameters, group, from);
    for (std::size_t place = 0; place < group.order.size(); ++place) {
      const std::size_t i = group.order[place];
      const LevelParameter& parameter = body_->parameters[i];
      if (parameter.derived || from[i] < 0) continue;
      const auto try_level = [&](std::int32_t level) {
        const auto number = move.to(place, level);
        if (number) found[i].push_back(rest + *number * group.stride);
        return number.has_value() && is_ordered(parameter.type);
      };
      const auto count = static_cast<std::int32_t>(parameter.levels.size());
      for (std::int32_t level = from[i]; level-- > 0 && !try_level(level);) {
      }
      for (std::int32_t level = from[i] + 1; level < count && !try_level(level); ++level) {
      }
    }
  }
  std::vector<std::uint64_t> all;
  for (const auto& each : found) all.insert(all.end(), each.begin(), each.end());
  return all;
}

Configuration ValidSet::configuration(std::span<const std::int32_t> levels) const {
  Configuration configuration;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const LevelParameter& parameter = body_->parameters[i];
    if (levels[i] < 0) continue;
    configuration.values.emplace(parameter.name,
                                 parameter.levels[static_cast<std::size_t>(levels[i])]);
  }
  return configuration;
}

std::optional<Levels> ValidSet::levels(const Configuration& configuration) const {
  Levels levels(body_->parameters.size(), -1);
  std::size_t used = 0;
  for (std::size_t i = 0; i < levels.size(); ++i) {
    const LevelParameter& parameter = body_->parameters[i];
    const auto value = configuration.values.find(parameter.name);
    if (value == configuration.values.end()) continue;
    const auto place = std::ranges::find(parameter.levels, value->second);
    if (place == parameter.levels.end()) return std::nullopt;
    levels[i] = static_cast<std::int32_t>(place - parameter.levels.begin());
    ++used;
  }
  if (used != configuration.values.size()) return std::nullopt;
  return levels;
}

std::size_t ValidSet::stored_bytes() const {
  std::size_t bytes = 0;
  for (const Group& group : body_->groups) bytes += group.diagram.stored_bytes();
  return bytes;
}

Expected<double> count_valid(const LevelProblem& problem) {
  if (has_false_rule(problem)) return 0.0;
  double count = 1.0;
  for (const auto& members : independent_groups(problem)) {
    SLURMTUNE_TRY(const Group group, group_of(problem, members));
    count *= static_cast<double>(group.diagram.size());
    if (count == 0.0) break;
  }
  return count;
}

Expected<ValidSet> make_valid_set(const Space& space) {
  auto parameters = level_parameters(space);
  const std::vector<bool> all(demands_of(space).size(), true);
  const LevelProblem problem = level_problem(space, parameters, all);
  auto made = ValidSetMaker::of_problem(std::move(parameters), problem);
  if (!made) return in_context(space.path() + ":1", std::move(made).error());
  return made;
}

ValidSet valid_set_of_rows(std::vector<LevelParameter> parameters, std::vector<Levels> rows) {
  return ValidSetMaker::of_rows(std::move(parameters), std::move(rows));
}

}  // namespace slurmtune
