// SPDX-License-Identifier: MIT
#include "slurmtune/plan/submit_costs.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/plan/packing.hpp"
#include "slurmtune/plan/shape.hpp"
#include "slurmtune/plan/site_rules.hpp"

namespace slurmtune {

namespace {

/// So long that all experiments of a stage are packed into one task, if its walltime allows.
constexpr double any_minutes = 100'000.0;
/// What a reducer of a study inside one job likely takes, on all nodes.
constexpr std::int64_t likely_reducer_s = 10;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

Expected<Plan> plan_for(const StudyInput& input, SubmitMode mode) {
  PlanIdentity identity;
  identity.submit = mode;
  return make_plan(mode == SubmitMode::one_job ? inside_one_job(input) : input, identity);
}

/// Stages that are likely to run.
std::int64_t likely_stages(const Plan& plan) {
  return std::count_if(plan.stages.begin(), plan.stages.end(),
                       [](const PlannedStage& stage) { return stage.likely_experiments > 0; });
}

/// What all stages likely take one after another on the nodes of one task.
std::int64_t likely_run_s(const Plan& plan) {
  std::int64_t seconds = 0;
  for (const PlannedStage& stage : plan.stages) {
    seconds += stage.likely_node_seconds / std::max(1, stage.nodes_per_task) + likely_reducer_s;
  }
  return seconds;
}

/// Stages that went for want of jobs.
std::int64_t stages_left_out(const Plan& plan) {
  return std::ranges::count_if(plan.pruned, [](const Dropped& dropped) {
    return dropped.because.starts_with("submit_jobs_max");
  });
}

/// What a graph costs, or steps.
void add_arrays(const Plan& plan, SubmitCost& cost) {
  const auto stages = static_cast<std::int64_t>(plan.stages.size());
  std::int64_t tasks = 0;
  for (const PlannedStage& stage : plan.stages) {
    tasks += stage.tasks_max;
    cost.nodes = std::max(cost.nodes, stage.nodes_per_task);
    cost.walltime_s = std::max(cost.walltime_s, stage.task_walltime_s);
  }
  const bool steps = cost.mode == SubmitMode::step;
  // By steps each stage has a second reducer, and there is no final job. A graph keeps a place for
  // guard, so that this is what submit_jobs_max is compared with.
  cost.jobs = tasks + (steps ? 2 * stages : stages + jobs_beside_stages) + (plan.launch ? 1 : 0);
  cost.stages_left_out = stages_left_out(plan);
  cost.long_waits = likely_stages(plan);
  cost.waits = 2 * cost.long_waits + (steps ? 0 : 1);
  cost.likely_node_seconds = plan.likely_node_seconds;
  cost.worst_node_seconds = plan.worst_node_seconds;
}

void add_whole(const Plan& plan, const StudyInput& input, SubmitCost& cost) {
  const WholeJobs whole = whole_jobs(plan, site_of_whole_jobs(input));
  for (const PlannedStage& stage : plan.stages) {
    cost.nodes = std::max(cost.nodes, stage.nodes_per_task);
  }
  cost.walltime_s = whole.walltime_s;
  cost.jobs = whole.jobs_max;
  cost.waits = cost.long_waits = whole.likely_jobs;
  cost.likely_node_seconds = plan.likely_node_seconds;
  cost.worst_node_seconds = plan.worst_node_seconds;
}

/// Why not all stages can be a graph: by the count of jobs that is compared, where that is it.
std::string why_no_whole_graph(const StudyInput& input, const Expected<Plan>& graph) {
  const std::int64_t most = input.site.submit_jobs_max;
  const auto least = fewest_graph_jobs(input);
  if (least && *least > most) {
    return fmt::format(
        "the whole graph is {} jobs at least (array tasks, reducers, guard and final), more than "
        "submit_jobs_max = {} of the site",
        *least, most);
  }
  return graph ? fmt::format("the graph would leave out {} stages", stages_left_out(*graph))
               : graph.error().message;
}

}  // namespace

WholeJobs whole_jobs(const Plan& plan, const Site& site) {
  std::int64_t worst_s = 0;
  for (const PlannedStage& stage : plan.stages) {
    worst_s += stage.tasks_max * stage.task_walltime_s + plan.reducer_walltime_s;
  }
  if (plan.launch) worst_s += plan.launch->walltime_s;
  if (worst_s <= site.walltime_max_s) return {.walltime_s = worst_s};
  const std::int64_t usable_s =
      std::max<std::int64_t>(60, site.walltime_max_s - whole_job_margin_s);
  return {.walltime_s = site.walltime_max_s,
          .jobs_max = 2 * ceil_div(worst_s, usable_s) + 1,
          .likely_jobs = std::max<std::int64_t>(1, ceil_div(likely_run_s(plan), usable_s))};
}

Site site_of_whole_jobs(const StudyInput& input) {
  Site site = input.site;
  if (const auto& window = input.spec.budget.window) {
    site.walltime_max_s =
        std::min<std::int64_t>(site.walltime_max_s, std::chrono::seconds(window->length()).count());
  }
  return site;
}

StudyInput inside_one_job(StudyInput input) {
  input.site.min_task_minutes = any_minutes;
  input.site.job_minutes_min.reset();
  input.site.jobs_per_minute_max.reset();
  return input;
}

std::vector<SubmitCost> submit_costs(const StudyInput& input) {
  std::vector<SubmitCost> costs;
  for (const SubmitMode mode : {SubmitMode::graph, SubmitMode::step, SubmitMode::one_job}) {
    SubmitCost& cost = costs.emplace_back();
    cost.mode = mode;
    const auto plan = plan_for(input, mode);
    if (!plan) {
      cost.why_not = plan.error().message;
    } else if (mode == SubmitMode::one_job) {
      add_whole(*plan, input, cost);
    } else {
      add_arrays(*plan, cost);
    }
  }
  return costs;
}

SubmitChoice choose_submit(const StudyInput& input) {
  const auto steps_fit = [&] {
    return input.site.jobs_can_submit && plan_for(input, SubmitMode::step).has_value();
  };
  if (input.spec.budget.window && steps_fit()) {
    return {SubmitMode::step,
            "with budget.window the next stage is submitted only once it is decided about"};
  }
  const auto graph = plan_for(input, SubmitMode::graph);
  if (graph && stages_left_out(*graph) == 0) {
    return {SubmitMode::graph, "all of its jobs may stand in the queue at once"};
  }
  const std::string why_no_graph = why_no_whole_graph(input, graph);
  if (steps_fit()) return {SubmitMode::step, why_no_graph};
  if (!plan_for(input, SubmitMode::one_job)) {
    // Where jobs are what a graph lacks, the reason that counts is why a chain, which needs few,
    // cannot be; else it is the graph's own.
    const auto least = fewest_graph_jobs(input);
    const bool lacks_jobs = least && *least > input.site.submit_jobs_max;
    return {lacks_jobs ? SubmitMode::one_job : SubmitMode::graph, ""};
  }
  return {SubmitMode::one_job,
          why_no_graph + (input.site.jobs_can_submit
                              ? fmt::format("; submit = \"step\" has {} in the queue at least",
                                            jobs_beside_a_step + 1)
                              : "; no job of the site may submit jobs, as steps need")};
}

}  // namespace slurmtune
