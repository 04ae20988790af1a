// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/plan/plan.hpp"
#include "slurmtune/plan/planner.hpp"

namespace slurmtune {

/// The jobs that hold a whole study one after another (submit = "one-job").
struct WholeJobs {
  std::int64_t walltime_s = 60;  ///< of each
  std::int64_t jobs_max = 1;     ///< at the plan's worst case
  std::int64_t likely_jobs = 1;
  bool operator==(const WholeJobs&) const = default;
};

/// One job if the plan's worst case is within the site's longest walltime. Else a chain of jobs of
/// that length: two that follow each other do more than one's time of work, since no task that was
/// cut off in the first is longer than the second.
[[nodiscard]] WholeJobs whole_jobs(const Plan& plan, const Site& site);

/// The site as jobs that hold a study see it: none is longer than budget.window.
[[nodiscard]] Site site_of_whole_jobs(const StudyInput& input);

/// What holds of a study inside one job: a stage is one task as far as its time allows, and the
/// site's rules for short jobs are none.
[[nodiscard]] StudyInput inside_one_job(StudyInput input);

/// What one way of submitting a study comes to.
struct SubmitCost {
  SubmitMode mode = SubmitMode::graph;
  std::string why_not;          ///< why it cannot be; the rest is meaningless then
  std::int64_t jobs = 0;        ///< at most, array tasks counted one by one; of a chain, all of it
  std::int64_t waits = 0;       ///< jobs that wait in the queue one after another, until the end
  std::int64_t long_waits = 0;  ///< of those, how many hold nodes: arrays, or the whole study
  int nodes = 1;                ///< of such a job
  std::int64_t walltime_s = 60;
  std::int64_t stages_left_out = 0;  ///< for want of jobs that may stand in the queue
  std::int64_t likely_node_seconds = 0;
  std::int64_t worst_node_seconds = 0;  ///< as the budget counts: Plan::worst_node_seconds
};

/// graph, step and one-job, in this order.
[[nodiscard]] std::vector<SubmitCost> submit_costs(const StudyInput& input);

/// A way of submitting, and why it is the one.
struct SubmitChoice {
  SubmitMode mode = SubmitMode::graph;
  std::string why;
};

/// What submit = "auto" stands for where there is a Slurm: the graph if all of it may stand in the
/// queue at once, else steps, else one job. With budget.window steps come first, so that nothing
/// waits in the queue over the hours in which nothing may run. Where none can be planned it is the
/// one whose refusal says what counts: one job where the graph has too many jobs, else the graph.
[[nodiscard]] SubmitChoice choose_submit(const StudyInput& input);

}  // namespace slurmtune
