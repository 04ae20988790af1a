// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/generate/experiment_generator.hpp"
#include "slurmtune/record/decision.hpp"
#include "slurmtune/record/experiment.hpp"
#include "slurmtune/record/ids.hpp"

namespace slurmtune {

/// A node of the plan: one job array at its worst case, and the reducer that follows it.
struct PlannedStage {
  StageName name;  ///< `03-frontier`; nn counts from 1 over the whole plan
  Purpose kind = Purpose::profile;
  int round = 0;           ///< of its kind, from 0
  bool mandatory = false;  ///< the plan is admitted only if the budget holds these
  std::int64_t experiments_max = 0;
  std::int64_t tasks_max = 0;      ///< width of the array: slices at most
  std::int64_t tasks_at_once = 0;  ///< array throttle (`%N`); tasks_max if there is none
  int nodes_per_task = 1;
  std::int64_t task_walltime_s = 0;
  std::int64_t worst_node_seconds = 0;  ///< tasks_max x nodes_per_task x task_walltime_s
  std::int64_t likely_node_seconds = 0;
  std::int64_t likely_experiments = 0;

  bool operator==(const PlannedStage&) const = default;
};

/// The job after `final` that runs the user's own training with the winner: mode = "run".
struct PlannedLaunch {
  int nodes = 1;
  std::int64_t walltime_s = 0;

  bool operator==(const PlannedLaunch&) const = default;
};

/// The graph of stages of a study: array 1 -> reducer 1 -> array 2 -> … -> final. All edges are
/// afterany, so the order of `stages` is the graph.
struct Plan {
  StudyId study;
  std::string study_name;
  std::string inputs;  ///< `sha256:…` over the frozen input
  std::vector<PlannedStage> stages;
  std::vector<Dropped> pruned;  ///< what is left out before anything runs, with figures
  std::vector<std::string> notes;
  std::int64_t reducer_walltime_s = 600;
  /// The most tasks of one array: a wider stage is several arrays. 0 = any number.
  std::int64_t array_tasks_max = 0;
  std::string submit;      ///< the way of submitting that it is made for; "" where none is chosen
  std::string submit_why;  ///< why that one, where slurmtune chose
  std::int64_t grid_size = 0;  ///< valid configurations in the space; 0 = too many to count
  std::optional<std::int64_t> budget_node_seconds;
  /// What one reducer, guard or final takes at worst; 0 where its share of a node is not known, and
  /// such jobs do not count into the budget.
  std::int64_t lone_job_node_seconds = 0;
  /// What everything that was asked for would take at worst, before the budget trimmed it.
  std::int64_t asked_node_seconds = 0;
  std::int64_t asked_experiments = 0;
  /// What the budget counts at worst (planned_worst), not above the budget, which reducers keep.
  std::int64_t worst_node_seconds = 0;
  std::int64_t likely_node_seconds = 0;
  std::optional<PlannedLaunch> launch;  ///< not part of the budget, which is the tuning's

  bool operator==(const Plan&) const = default;

  /// Index in `stages`, if there is one of that name.
  [[nodiscard]] std::optional<std::size_t> index_of(const StageName& name) const;
};

/// The frame of a stage's manifest. `index` is one of `plan.stages`. Where there is a budget, the
/// stage's own worst case is its cap; a reducer lowers it to what is left.
[[nodiscard]] StageRequest stage_request(const Plan& plan, std::size_t index);

/// plan.json: canonical JSON and a newline, `"format":"slurmtune.plan"`.
[[nodiscard]] Expected<std::string> render_plan(const Plan& plan);
[[nodiscard]] Expected<Plan> parse_plan(std::string_view text, std::string_view where);

}  // namespace slurmtune
