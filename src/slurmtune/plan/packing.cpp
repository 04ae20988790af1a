// SPDX-License-Identifier: MIT
#include "slurmtune/plan/packing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include <fmt/format.h>

#include "slurmtune/base/instant.hpp"
#include "slurmtune/generate/task_time.hpp"

namespace slurmtune {

namespace {

constexpr double likely_trial_s_at_most = 120.0;
constexpr double likely_share_of_worst = 0.25;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::string duration(double seconds) {
  return format_duration(std::chrono::milliseconds(std::llround(seconds * 1000.0)));
}

/// What is compared where not even one experiment fits, part by part, in seconds as the keys are.
std::string one_experiment(const TaskRules& rules) {
  const TrialLimits& limits = rules.limits;
  const std::string why = rules.total_is_given
                              ? "measure.total_s"
                              : fmt::format("measure.startup_s {:.10g}, measure.stall_s {:.10g}",
                                            limits.startup_s, limits.stall_s);
  std::string parts = fmt::format(
      "one experiment may last {:.10g} s ({}) and {:.10g} s to be ended, its task {} s to start "
      "and end",
      limits.total_s, why, trial_end_s, task_margin_s);
  if (rules.job_margin_s > 0) {
    parts += fmt::format(", and the job that holds the study {} s likewise", rules.job_margin_s);
  }
  return fmt::format("{}: {:.10g} s together", parts,
                     std::ceil(limits.total_s + trial_end_s) +
                         static_cast<double>(task_margin_s + rules.job_margin_s));
}

/// The most experiments that one task of this site may hold.
Expected<std::int64_t> per_task_max(const TaskRules& rules) {
  const std::int64_t most = experiments_that_fit(rules.walltime_max_s, rules.lanes, rules.limits);
  if (most > 0) return most;
  return invalid_input(
      fmt::format("{}: {}, but {} is {} s; {}, or {}", rules.limit_where, one_experiment(rules),
                  rules.window_limits ? "the length of budget.window"
                                      : "the longest walltime of the site (walltime_max_s)",
                  rules.walltime_max_s + rules.job_margin_s,
                  rules.total_is_given ? "lower measure.total_s"
                                       : "set measure.total_s or lower measure.startup_s",
                  rules.window_limits ? "make the window longer" : "choose another partition"));
}

ArrayShape shape_of(std::int64_t experiments, std::int64_t per_task, const TaskRules& rules) {
  ArrayShape shape;
  shape.tasks = ceil_div(experiments, per_task);
  shape.per_task = ceil_div(experiments, shape.tasks);
  shape.walltime_s =
      std::min(task_walltime_s(shape.per_task, rules.lanes, rules.limits), rules.walltime_max_s);
  return shape;
}

}  // namespace

double likely_trial_s(const TrialLimits& limits) {
  return std::min(likely_trial_s_at_most, limits.total_s * likely_share_of_worst);
}

TaskRules task_rules(const StudyInput& input, SubmitMode submit) {
  const TrialLimits limits = trial_limits(input.spec.measure);
  const auto& window = input.spec.budget.window;
  const std::int64_t window_s =
      window ? std::chrono::seconds(window->length()).count() : input.site.walltime_max_s;
  const std::int64_t longest_s = std::min(input.site.walltime_max_s, window_s);
  const std::int64_t margin_s = submit == SubmitMode::one_job ? whole_job_margin_s : 0;
  const bool window_limits = window_s < input.site.walltime_max_s;
  return {
      .lanes = input.spec.lanes,
      .nodes_per_task = input.spec.nodes_per_task(),
      .limits = limits,
      .likely_trial_s = likely_trial_s(limits),
      .min_task_s =
          std::max(input.site.min_task_minutes, input.site.job_minutes_min.value_or(0.0)) * 60.0,
      .walltime_max_s = longest_s - margin_s,
      .job_margin_s = margin_s,
      .window_limits = window_limits,
      .total_is_given = input.spec.measure.total_s > 0.0,
      .where = input.spec.path,
      .limit_where = input.spec.where(window_limits ? input.spec.budget.window_line
                                                    : input.spec.measure.limit_line)};
}

Expected<ArrayShape> pack(std::int64_t experiments, std::int64_t tasks_max,
                          const TaskRules& rules) {
  SLURMTUNE_ASSERT(experiments >= 1 && tasks_max >= 1 && rules.likely_trial_s > 0.0);
  SLURMTUNE_TRY(const std::int64_t most, per_task_max(rules));
  const double in_a_lane = std::max(1.0, std::ceil(rules.min_task_s / rules.likely_trial_s));
  const std::int64_t long_enough = static_cast<std::int64_t>(in_a_lane) * rules.lanes;
  const std::int64_t few_enough = ceil_div(experiments, tasks_max);
  if (few_enough > most) {
    return invalid_input(fmt::format(
        "{}: {} experiments do not fit into {} array {}: a task of at most {} holds {} of them; "
        "narrow the space, or raise submit_jobs_max or walltime_max_s of the site "
        "if the cluster allows more",
        rules.where, experiments, tasks_max, tasks_max == 1 ? "task" : "tasks",
        duration(static_cast<double>(rules.walltime_max_s)), most));
  }
  return shape_of(experiments, std::min(most, std::max(long_enough, few_enough)), rules);
}

Expected<ArrayShape> pack_into(std::int64_t experiments, std::int64_t tasks,
                               const TaskRules& rules) {
  SLURMTUNE_ASSERT(experiments >= 1 && tasks >= 1);
  SLURMTUNE_TRY(const std::int64_t most, per_task_max(rules));
  return shape_of(experiments, std::min(most, ceil_div(experiments, tasks)), rules);
}

}  // namespace slurmtune
