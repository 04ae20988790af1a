// SPDX-License-Identifier: MIT
#include "slurmtune/space/space_counts.hpp"

#include <fmt/core.h>

#include "slurmtune/space/valid_set.hpp"

namespace slurmtune {

namespace {

/// Counts what some of a space's demands leave.
class Counter {
 public:
  explicit Counter(const Space& space)
      : space_(space), parameters_(level_parameters(space)), demands_(demands_of(space)) {}

  [[nodiscard]] const std::vector<Demand>& demands() const { return demands_; }

  [[nodiscard]] double combinations() const {
    double product = 1.0;
    for (const LevelParameter& parameter : parameters_) {
      if (!parameter.derived) product *= static_cast<double>(parameter.levels.size());
    }
    return product;
  }

  [[nodiscard]] Expected<double> left(const std::vector<bool>& chosen) const {
    return count_valid(level_problem(space_, parameters_, chosen));
  }

  [[nodiscard]] std::vector<bool> all(bool chosen) const {
    return std::vector<bool>(demands_.size(), chosen);
  }

  // One demand after the other goes if nothing is left without it, too.
  [[nodiscard]] std::vector<Demand> conflict() const {
    std::vector<bool> chosen = all(true);
    std::vector<Demand> conflict;
    for (std::size_t i = 0; i < demands_.size(); ++i) {
      chosen[i] = false;
      const auto count = left(chosen);
      if (count && *count == 0.0) continue;
      chosen[i] = true;
      conflict.push_back(demands_[i]);
    }
    return conflict;
  }

 private:
  const Space& space_;
  std::vector<LevelParameter> parameters_;
  std::vector<Demand> demands_;
};

}  // namespace

Expected<SpaceCounts> count_space(const Space& space) {
  const Counter counter(space);
  SpaceCounts counts;
  counts.combinations = counter.combinations();
  SLURMTUNE_TRY(const ValidSet valid, make_valid_set(space));
  counts.valid = static_cast<double>(valid.size());
  auto applicable = counter.left(counter.all(false));
  if (!applicable) return in_context(space.path() + ":1", std::move(applicable).error());
  counts.applicable = *applicable;
  const auto& demands = counter.demands();
  for (std::size_t i = 0; i < demands.size(); ++i) {
    DemandEffect effect{demands[i], {}, {}};
    std::vector<bool> chosen = counter.all(false);
    chosen[i] = true;
    if (const auto left = counter.left(chosen); left && counts.applicable > 0.0) {
      effect.removed_share = 1.0 - *left / counts.applicable;
    }
    chosen = counter.all(true);
    chosen[i] = false;
    if (const auto left = counter.left(chosen)) effect.removed_alone = *left - counts.valid;
    counts.effects.push_back(std::move(effect));
  }
  if (valid.size() == 0) counts.conflict = counter.conflict();
  return counts;
}

Error nothing_valid(const Space& space, const std::vector<Demand>& conflict) {
  if (conflict.empty()) {
    return {ErrorKind::invalid_input,
            fmt::format("{}:1: no configuration is left; write more values", space.path())};
  }
  if (conflict.size() == 1) {
    return {ErrorKind::invalid_input,
            fmt::format("{}: no configuration is left: \"{}\" holds for none; loosen it",
                        conflict[0].where, conflict[0].text)};
  }
  std::string others;
  for (std::size_t i = 1; i < conflict.size(); ++i) {
    others += fmt::format("{}\"{}\" ({})",
                          i == 1                    ? ""
                          : i + 1 < conflict.size() ? ", "
                                                    : " and ",
                          conflict[i].text, conflict[i].where);
  }
  return {ErrorKind::invalid_input,
          fmt::format("{}: no configuration is left: \"{}\" cannot hold together with {}; loosen "
                      "one of them",
                      conflict[0].where, conflict[0].text, others)};
}

}  // namespace slurmtune
