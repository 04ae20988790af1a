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

/// Farther than nearest_word() looks: `thruput` is meant to be `throughput`. A name that holds a
/// known one (`my_throughput`) is meant as it is.
std::string_view nearest_name(std::string_view name, const std::vector<std::string>& known) {
  constexpr std::size_t distance_max = 3;
  std::string_view nearest;
  std::size_t best = std::min(distance_max, name.size() / 2) + 1;
  for (const std::string& word : known) {
    const std::size_t distance = edit_distance(name, word);
    if (distance >= best || name.find(word) != std::string_view::npos) continue;
    best = distance;
    nearest = word;
  }
  return nearest;
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
    for (const std::string& name : compiled.variables()) {
      if (std::ranges::find(known, name) != known.end()) continue;
      const std::string_view nearest = nearest_name(name, known);
      if (!nearest.empty() && spec.measure.source != MeasureSource::metrics_file) {
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
