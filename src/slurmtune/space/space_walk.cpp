// SPDX-License-Identifier: MIT
#include <algorithm>
#include <utility>

#include <fmt/core.h>

#include "slurmtune/space/space.hpp"

namespace slurmtune {

namespace {

// Beyond this many values looked at, a space is not for enumeration, however few points it has.
constexpr std::size_t visits_max = 5'000'000;

/// What removed configurations, and how often.
struct Removal {
  std::string where;
  std::string what;
  std::size_t count = 0;
};

}  // namespace

/// Walks over the space parameter by parameter; a constraint is looked at as soon as all it speaks
/// of is known, so that whole branches go at once.
class SpaceWalk {
 public:
  SpaceWalk(const Space& space, std::size_t limit)
      : space_(space), limit_(limit), variables_(space.constants()) {
    for (const Expression& constraint : space.constraints_) {
      removals_.push_back(
          Removal{constraint.where(),
                  fmt::format("\"{}\" removes the last of them; loosen it", constraint.text()), 0});
      depth_of_constraint_.push_back(depth_of(constraint));
    }
    removals_.push_back(Removal{
        space.batch_where_,
        fmt::format("no micro_batch x {} ranks divides the global batch {}; change one of them",
                    space.data_parallel_, space.global_batch_.value_or(0)),
        0});
  }

  [[nodiscard]] Expected<std::vector<Configuration>> run() {
    for (const Parameter& parameter : space_.parameters_) {
      if (parameter.range && parameter.type == ParameterType::real) {
        return invalid_input(fmt::format(
            "{}:{}: parameter \"{}\" has a range of real numbers, which cannot be enumerated; "
            "write values = [...]",
            space_.path_, parameter.line, parameter.name));
      }
    }
    SLURMTUNE_CHECK(walk(0));
    if (!found_.empty()) return std::move(found_);
    return nothing_left();
  }

 private:
  // The position of the last parameter that the constraint needs.
  [[nodiscard]] std::size_t depth_of(const Expression& constraint) const {
    std::size_t depth = 0;
    for (const std::string& name : constraint.variables()) {
      for (std::size_t i = 0; i < space_.parameters_.size(); ++i) {
        const Parameter& parameter = space_.parameters_[i];
        const bool gives_global = name == "global_batch" && space_.is_accumulation(parameter);
        if (parameter.name == name || gives_global) depth = std::max(depth, i);
      }
    }
    return depth;
  }

  [[nodiscard]] tl::unexpected<Error> nothing_left() const {
    const auto worst = std::ranges::max_element(removals_, {}, &Removal::count);
    return invalid_input(fmt::format("{}: no configuration is left: {}",
                                     worst->where.empty() ? space_.path_ + ":1" : worst->where,
                                     worst->what));
  }

  // Whether the constraints that have become decidable at this depth hold.
  [[nodiscard]] bool allowed(std::size_t depth) {
    for (std::size_t i = 0; i < space_.constraints_.size(); ++i) {
      if (depth_of_constraint_[i] != depth) continue;
      const Expression& constraint = space_.constraints_[i];
      const bool decidable = std::ranges::all_of(
          constraint.variables(),
          [this](const std::string& name) { return variables_.contains(name); });
      if (decidable && !constraint.holds(variables_).value_or(false)) {
        ++removals_[i].count;
        return false;
      }
    }
    return true;
  }

  [[nodiscard]] Expected<void> walk(std::size_t depth) {
    if (depth == space_.parameters_.size()) {
      if (found_.size() == limit_) return too_many();
      found_.push_back(Configuration{values_});
      return {};
    }
    const Parameter& parameter = space_.parameters_[depth];
    if (parameter.when && !parameter.when->holds(variables_).value_or(false)) {
      return allowed(depth) ? walk(depth + 1) : Expected<void>{};
    }
    if (space_.is_accumulation(parameter)) {
      const auto micro_batch =
          std::get<std::int64_t>(values_.at(std::string(micro_batch_parameter)));
      const auto accumulation = space_.accumulation_for(micro_batch);
      if (accumulation) return take(depth, *accumulation);
      ++removals_.back().count;
      return {};
    }
    for (const Value& choice : parameter.choices) {
      SLURMTUNE_CHECK(take(depth, choice));
    }
    if (!parameter.range) return {};
    const auto high = static_cast<std::int64_t>(parameter.range->high);
    for (auto at = static_cast<std::int64_t>(parameter.range->low); at <= high; ++at) {
      SLURMTUNE_CHECK(take(depth, at));
    }
    return {};
  }

  // Gives the parameter at this depth a value, goes on, and takes the value back.
  [[nodiscard]] Expected<void> take(std::size_t depth, const Value& value) {
    if (++visits_ > visits_max) {
      return invalid_input(
          fmt::format("{}:1: the space is too large to try each configuration; write fewer values",
                      space_.path_));
    }
    const Parameter& parameter = space_.parameters_[depth];
    space_.see(parameter.name, value, variables_);
    Expected<void> deeper;
    if (allowed(depth)) {
      values_.insert_or_assign(parameter.name, value);
      deeper = walk(depth + 1);
      values_.erase(parameter.name);
    }
    variables_.erase(parameter.name);
    const bool gave_global = space_.is_accumulation(parameter) && !space_.global_batch_;
    if (gave_global) variables_.erase("global_batch");
    return deeper;
  }

  [[nodiscard]] tl::unexpected<Error> too_many() const {
    return invalid_input(fmt::format(
        "{}:1: the space has more than {} configurations, too many to try each; write fewer "
        "values, or a constraint",
        space_.path_, limit_));
  }

  const Space& space_;
  std::size_t limit_;
  std::size_t visits_ = 0;
  Values values_;                            // of the parameters above the current depth
  std::map<std::string, double> variables_;  // what expressions see of them
  std::vector<Configuration> found_;
  std::vector<std::size_t> depth_of_constraint_;
  std::vector<Removal> removals_;  // one a constraint, then the batch rule
};

Expected<std::vector<Configuration>> Space::enumerate(std::size_t limit) const {
  return SpaceWalk(*this, limit).run();
}

}  // namespace slurmtune
