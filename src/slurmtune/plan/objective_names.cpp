// SPDX-License-Identifier: MIT
#include "slurmtune/plan/objective_names.hpp"

#include <algorithm>
#include <cstddef>
#include <string_view>

#include <fmt/format.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/input/named_pattern.hpp"
#include "slurmtune/model/objective.hpp"
#include "slurmtune/record/configuration.hpp"
#include "slurmtune/space/expression.hpp"

namespace slurmtune {

namespace {

/// Names of a pattern's groups that are no metrics.
bool is_of_the_step(std::string_view group) {
  return group == "step" || group == "samples" || group == "loss";
}

std::vector<std::string> known_names(const StudySpec& spec) {
  std::vector<std::string> known(metric_names.begin(), metric_names.end());
  for (const ParameterSpec& parameter : spec.parameters) known.push_back(parameter.name);
  if (spec.deepspeed) {
    for (const std::string_view name :
         {zero_stage_parameter, micro_batch_parameter, accumulation_parameter}) {
      known.emplace_back(name);
    }
  }
  // What the runner tells of a node's GPUs, and what trainers' own lines tell (measure/sources).
  for (const char* name :
       {"nvml_peak_gpu_bytes", "gpu_utilisation", "sm_clock_hz", "deepspeed_samples_per_s",
        "tokens_per_s_per_gpu", "train_samples_per_second", "train_steps_per_second"}) {
    known.emplace_back(name);
  }
  if (spec.measure.source != MeasureSource::pattern) return known;
  const auto pattern = compile_named_pattern(spec.measure.pattern);
  if (!pattern) return known;
  for (const NamedPattern::Group& group : pattern->groups) {
    if (!is_of_the_step(group.name)) known.push_back(group.name);
  }
  return known;
}

/// At most so many letters off, a name is a slip of the pen.
constexpr std::size_t slip_max = 2;

/// Whether a name holds a known one as a word: `my_throughput`, `throughput_2`, but not
/// `throughputt`.
bool is_made_of(std::string_view name, std::string_view word, std::size_t distance) {
  const auto at = name.find(word);
  if (at == name.npos) return false;
  const bool begins = at == 0 || name[at - 1] == '_';
  const bool ends = at + word.size() == name.size() || name[at + word.size()] == '_';
  return (begins && ends) || distance > slip_max;
}

/// Farther than nearest_word() looks: `thruput` is meant to be `throughput`. A name that is made of
/// a known one is meant as it is.
std::string_view nearest_name(std::string_view name, const std::vector<std::string>& known) {
  constexpr std::size_t distance_max = 3;
  std::string_view nearest;
  std::size_t best = std::min(distance_max, name.size() / 2) + 1;
  for (const std::string& word : known) {
    const std::size_t distance = edit_distance(name, word);
    if (distance >= best || is_made_of(name, word, distance)) continue;
    best = distance;
    nearest = word;
  }
  return nearest;
}

/// `step_ms` beside `step_s`: a trial's own metric in another unit, not a slip.
bool is_other_unit(std::string_view name, std::string_view known) {
  constexpr std::size_t unit_max = 3;
  const auto ours = name.rfind('_');
  const auto theirs = known.rfind('_');
  if (ours == name.npos || theirs == known.npos) return false;
  return name.substr(0, ours) == known.substr(0, theirs) && name.size() - ours <= unit_max + 1 &&
         known.size() - theirs <= unit_max + 1;
}

/// Whether a name that nothing is known to report is meant to be `nearest`. A trial with a metrics
/// file may report what it likes, so that only a slip of the pen is one there.
bool is_slip(std::string_view name, std::string_view nearest, MeasureSource source) {
  if (nearest.empty()) return false;
  if (source != MeasureSource::metrics_file) return true;
  return edit_distance(name, nearest) <= slip_max && !is_other_unit(name, nearest);
}

}  // namespace

Expected<std::vector<std::string>> check_objective_names(const StudyInput& input) {
  const StudySpec& spec = input.spec;
  std::vector<ConstraintSpec> expressions{{spec.objective.metric, spec.objective.line}};
  expressions.insert(expressions.end(), spec.objective.subject_to.begin(),
                     spec.objective.subject_to.end());
  const std::vector<std::string> known = known_names(spec);
  std::vector<std::string> notes;
  for (const ConstraintSpec& expression : expressions) {
    const std::string where = fmt::format("{}:{}", spec.path, expression.line);
    SLURMTUNE_TRY(const Expression compiled, Expression::compile(expression.expression, where));
    if (compiled.variables().empty()) {
      return invalid_input(
          fmt::format("{}: \"{}\" speaks of no metric, so that all configurations would be equal; "
                      "write one, as "
                      "throughput",
                      where, expression.expression));
    }
    for (const std::string& name : compiled.variables()) {
      if (std::ranges::find(known, name) != known.end()) continue;
      const std::string_view nearest = nearest_name(name, known);
      if (is_slip(name, nearest, spec.measure.source)) {
        return invalid_input(
            fmt::format("{}: the objective speaks of \"{}\", which nothing reports; did you mean "
                        "\"{}\"?",
                        where, name, nearest));
      }
      notes.push_back(fmt::format(
          "the objective speaks of \"{}\": the trial has to report it in its metrics file{}", name,
          nearest.empty() ? "" : fmt::format("; did you mean \"{}\"?", nearest)));
    }
  }
  return notes;
}

}  // namespace slurmtune
