// SPDX-License-Identifier: MIT
#include "slurmtune/plan/site_rules.hpp"

#include <fmt/format.h>

#include "slurmtune/plan/shape.hpp"

namespace slurmtune {

Expected<void> check_nodes(const StudyInput& input, std::int64_t nodes_per_task) {
  const Site& site = input.site;
  if (site.nodes_max && nodes_per_task > *site.nodes_max) {
    return invalid_input(fmt::format(
        "{}: one task holds {} nodes (trial.nodes x lanes), but a job of the site has {} at most "
        "(nodes_max); lower trial.nodes or slurm.lanes, or choose another partition or qos",
        input.spec.path, nodes_per_task, *site.nodes_max));
  }
  if (site.nodes_min && nodes_per_task < *site.nodes_min) {
    return invalid_input(fmt::format(
        "{}: one task holds {} nodes (trial.nodes x lanes), but a job of the site has {} at least "
        "(nodes_min); raise slurm.lanes, or choose another partition or qos",
        input.spec.path, nodes_per_task, *site.nodes_min));
  }
  return {};
}

void add_rule_notes(const Site& site, SubmitMode submit, Plan& plan) {
  if (!is_in_arrays(submit)) return;
  const auto stages = static_cast<std::int64_t>(plan.stages.size());
  if (site.job_minutes_min.value_or(0.0) > 0.0) {
    plan.notes.push_back(fmt::format(
        "site {}: a job should last {:g} minutes at least (job_minutes_min), but the {} reducers "
        "of the graph take seconds, and array tasks no longer than their experiments do; submit = "
        "\"one-job\" makes one job of all",
        site.name, *site.job_minutes_min, stages + jobs_beside_stages));
  }
  // By steps no more than one stage's at once: its array, its two reducers, and guard.
  const std::int64_t submissions = submit == SubmitMode::step ? 4 : 2 * stages + jobs_beside_stages;
  if (site.jobs_per_minute_max && submissions > *site.jobs_per_minute_max) {
    plan.notes.push_back(fmt::format(
        "site {}: {} jobs a minute may be submitted (jobs_per_minute_max), but the graph has {}: "
        "submit waits in between, {} minutes in all; submit = \"one-job\" makes one job of all",
        site.name, *site.jobs_per_minute_max, submissions,
        (submissions - 1) / *site.jobs_per_minute_max));
  }
}

}  // namespace slurmtune
