// SPDX-License-Identifier: MIT
#include "slurmtune/model/objective.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/model/statistics.hpp"

namespace slurmtune {

namespace {

using Variables = std::map<std::string, double>;

/// Which end of the intervals a set of variables holds: the slow one, the middle, the fast one.
enum class End { slow, middle, fast };

double end_of(const Interval& interval, End end) {
  if (end == End::middle) return interval.mid;
  return end == End::slow ? interval.low : interval.high;
}

End opposite(End end) {
  if (end == End::middle) return end;
  return end == End::slow ? End::fast : End::slow;
}

void set(Variables& variables, const char* name, const std::optional<double>& value) {
  if (value) variables[name] = *value;
}

Variables variables_of(const Verdict& verdict, const Values& values,
                       const std::optional<double>& site_gpu_bytes, End end) {
  Variables variables;
  for (const auto& [name, value] : verdict.metrics.user) variables[name] = value;
  for (const auto& [name, value] : values) variables[name] = expression_value(value);
  const Metrics& metrics = verdict.metrics;
  if (metrics.throughput) variables["throughput"] = end_of(*metrics.throughput, end);
  if (metrics.step_s) variables["step_s"] = end_of(*metrics.step_s, opposite(end));
  set(variables, "flops_per_gpu", metrics.flops_per_gpu);
  set(variables, "peak_gpu_bytes", metrics.peak_gpu_bytes);
  set(variables, "peak_host_bytes", metrics.peak_host_bytes);
  set(variables, "params", metrics.params);
  if (metrics.global_batch) {
    variables["global_batch"] = static_cast<double>(*metrics.global_batch);
  }
  set(variables, "gpu_bytes",
      verdict.hardware.gpu_bytes ? verdict.hardware.gpu_bytes : site_gpu_bytes);
  variables["startup_s"] = verdict.startup_s;
  variables["wall_s"] = verdict.wall_s;
  return variables;
}

/// Of the metrics that are known; what a trial reports besides has the unit that it has.
std::string_view unit_of_metric(std::string_view name) {
  if (name == "step_s" || name == "startup_s" || name == "wall_s") return "s";
  if (name == "throughput") return "samples/s";
  if (name == "flops_per_gpu") return "FLOP/s";
  if (name == "peak_gpu_bytes" || name == "peak_host_bytes") return "bytes";
  return "";
}

std::string how_to_report(std::string_view name) {
  if (name == "throughput") {
    return ": samples/s need batch.global in the study, or \"samples\" from the trial";
  }
  return "";
}

Interval inverse(const Interval& interval) {
  return {.low = 1.0 / interval.high, .mid = 1.0 / interval.mid, .high = 1.0 / interval.low};
}

}  // namespace

Expected<Objective> Objective::compile(const StudyInput& input) {
  const ObjectiveSpec& spec = input.spec.objective;
  SLURMTUNE_TRY(Expression expression, Expression::compile(spec.metric, input.spec.path));
  Objective objective(std::move(expression));
  objective.direction_ = spec.direction;
  objective.site_gpu_bytes_ = input.site.gpu_bytes;
  const bool maximize = spec.direction == Direction::maximize;
  if (spec.metric == "throughput" && maximize) {
    objective.kind_ = Kind::throughput;
    objective.label_ = "samples/s";
  } else {
    if (spec.metric == "step_s" && !maximize) objective.kind_ = Kind::step_s;
    objective.label_ = spec.metric;
  }
  for (const ConstraintSpec& constraint : spec.subject_to) {
    SLURMTUNE_TRY(Expression compiled,
                  Expression::compile(constraint.expression,
                                      fmt::format("{}:{}", input.spec.path, constraint.line)));
    objective.subject_to_.push_back(std::move(compiled));
  }
  return objective;
}

std::optional<Interval> Objective::value(const Verdict& verdict, const Values& values) const {
  // Without the expression: there may be many thousand verdicts.
  if (kind_ == Kind::throughput) return verdict.metrics.throughput;
  if (kind_ == Kind::step_s) return verdict.metrics.step_s;
  std::array<double, 3> ends{};
  for (const End end : {End::slow, End::middle, End::fast}) {
    const auto result = expression_.evaluate(variables_of(verdict, values, site_gpu_bytes_, end));
    if (!result) return std::nullopt;
    ends.at(static_cast<std::size_t>(end)) = *result;
  }
  const auto [low, high] = std::minmax_element(ends.begin(), ends.end());
  return Interval{.low = *low, .mid = ends[1], .high = *high};
}

std::optional<double> Objective::measured(const Verdict& verdict, const Values& values) const {
  if (verdict.outcome != Outcome::ok) return std::nullopt;
  const auto value = this->value(verdict, values);
  return value ? std::optional(value->mid) : std::nullopt;
}

std::optional<Interval> Objective::score(const Trial& trial) const {
  if (!trial.worked()) return std::nullopt;
  const Values& values = trial.experiment.configuration.values;
  const auto value = this->value(*trial.verdict, values);
  if (!value || !is_comparable(value->mid) || value->high > comparable_max) return std::nullopt;
  for (const Expression& constraint : subject_to_) {
    const auto variables = variables_of(*trial.verdict, values, site_gpu_bytes_, End::middle);
    if (!constraint.holds(variables).value_or(false)) return std::nullopt;
  }
  if (direction_ == Direction::maximize) {
    return Interval{.low = std::max(value->low, 0.0), .mid = value->mid, .high = value->high};
  }
  // A bound of the interval that is not positive says nothing: the middle bounds it instead.
  const double low = value->low >= comparable_min ? value->low : value->mid;
  return inverse({.low = low, .mid = value->mid, .high = value->high});
}

std::vector<std::string> Objective::unreported(const Trial& trial) const {
  if (!trial.worked()) return {};
  const auto variables = variables_of(*trial.verdict, trial.experiment.configuration.values,
                                      site_gpu_bytes_, End::middle);
  std::set<std::string> missing;
  const auto collect = [&](const Expression& expression) {
    for (const std::string& name : expression.variables()) {
      if (!variables.contains(name)) missing.insert(name);
    }
  };
  collect(expression_);
  for (const Expression& constraint : subject_to_) collect(constraint);
  return {missing.begin(), missing.end()};
}

std::string Objective::why_unranked(const Trial& trial) const {
  if (!trial.worked() || score(trial)) return "";
  if (const auto missing = unreported(trial); !missing.empty()) {
    return fmt::format("it reported no {}{}", missing.front(), how_to_report(missing.front()));
  }
  const Values& values = trial.experiment.configuration.values;
  const auto variables = variables_of(*trial.verdict, values, site_gpu_bytes_, End::middle);
  for (const Expression& constraint : subject_to_) {
    const auto holds = constraint.holds(variables);
    if (!holds) return holds.error().message;
    if (!*holds) return fmt::format("{} does not hold", constraint.text());
  }
  const auto objective = expression_.evaluate(variables);
  if (!objective) return objective.error().message;
  if (*objective <= 0.0) {
    return fmt::format("{} is {:.6g}, and must be positive", expression_.text(), *objective);
  }
  return fmt::format("{} is {:.6g}: it, or its interval, is not within {:g} and {:g}",
                     expression_.text(), *objective, comparable_min, comparable_max);
}

Interval Objective::readable(const Interval& score) const {
  if (direction_ == Direction::maximize) return score;
  // As in score(): a bound that is not positive says nothing.
  const double low = score.low > 0.0 ? score.low : score.mid;
  return inverse({.low = low, .mid = score.mid, .high = score.high});
}

std::string Objective::in_words(const Interval& readable) const {
  const std::string interval =
      fmt::format("(95 % interval {:.4g} to {:.4g})", readable.low, readable.high);
  return fmt::format("{} {}", in_words(readable.mid), interval);
}

std::string Objective::in_words(double readable) const {
  if (is_throughput()) return fmt::format("{:.4g} {}", readable, label_);
  const std::string_view unit = unit_of_metric(label_);
  return fmt::format("{} = {:.4g}{}{}", label_, readable, unit.empty() ? "" : " ", unit);
}

double Objective::score_of_step(double step_s, double samples) const {
  SLURMTUNE_ASSERT(follows_step_time() && step_s > 0.0);
  return kind_ == Kind::throughput ? samples / step_s : 1.0 / step_s;
}

}  // namespace slurmtune
