// SPDX-License-Identifier: MIT
#include "slurmtune/report/budget_text.hpp"

#include <algorithm>
#include <chrono>

#include <fmt/format.h>

#include "slurmtune/plan/budget.hpp"

namespace slurmtune {

namespace {

using Align = Table::Align;

std::string span_text(std::int64_t seconds) {
  return format_duration(std::chrono::seconds(seconds));
}

/// What stands beside a limit that all stages would not keep: the plan was trimmed to it, or
/// reducers keep it.
std::string over_text(const std::string& all, bool is_above) {
  if (!is_above) return "";
  return "all stages would take " + all +
         ": optional ones are trimmed, and released only while it holds them and the confirmation";
}

void add_hours(const StudyInput& input, const Plan& plan, Table& table) {
  const BudgetSpec& budget = input.spec.budget;
  // Before the trimming, for what stands beside; `at worst` is what can be charged.
  const double all = static_cast<double>(plan.asked_node_seconds + overhead_of(plan)) / 3600.0;
  const double worst = static_cast<double>(plan.worst_node_seconds) / 3600.0;
  const double likely = static_cast<double>(plan.likely_node_seconds) / 3600.0;
  const auto row = [&](const char* name, double limit, double factor) {
    table.add({name, fmt::format("{:.2f}", limit), fmt::format("{:.2f}", worst * factor),
               fmt::format("{:.2f}", likely * factor),
               over_text(fmt::format("{:.2f}", all * factor), all * factor > limit)});
  };
  if (budget.max_node_hours) row("max_node_hours", *budget.max_node_hours, 1.0);
  if (budget.max_gpu_hours) row("max_gpu_hours", *budget.max_gpu_hours, gpus_of_node(input));
}

void add_experiments(const StudyInput& input, const Plan& plan, Table& table) {
  const auto& limit = input.spec.budget.max_experiments;
  if (!limit) return;
  std::int64_t worst = 0;
  std::int64_t likely = 0;
  for (const PlannedStage& stage : plan.stages) {
    worst += stage.experiments_max;
    likely += stage.likely_experiments;
  }
  table.add({"max_experiments", fmt::to_string(*limit), fmt::to_string(worst),
             fmt::to_string(likely),
             over_text(fmt::to_string(plan.asked_experiments), plan.asked_experiments > *limit)});
}

void add_nodes(const StudyInput& input, const Plan& plan, Table& table) {
  const auto& limit = input.spec.budget.max_concurrent_nodes;
  if (!limit) return;
  std::int64_t worst = 0;
  std::int64_t wanted = 0;
  for (const PlannedStage& stage : plan.stages) {
    worst = std::max(worst, stage.tasks_at_once * stage.nodes_per_task);
    wanted = std::max(wanted, stage.tasks_max * stage.nodes_per_task);
  }
  table.add({"max_concurrent_nodes", fmt::to_string(*limit), fmt::to_string(worst), "",
             wanted > worst ? fmt::format("a stage has tasks for {}: the others wait", wanted)
                            : std::string()});
}

void add_times(const StudyInput& input, const Plan& plan, Table& table) {
  const BudgetSpec& budget = input.spec.budget;
  if (!budget.finish_by.empty()) {
    const GraphTime time = graph_time(plan);
    table.add({"finish_by", budget.finish_by, span_text(time.worst_s), span_text(time.likely_s),
               "from the first task to the end, without any wait in the queue"});
  }
  if (!budget.window) return;
  std::int64_t longest = 0;
  for (const PlannedStage& stage : plan.stages) {
    longest = std::max(longest, stage.task_walltime_s);
  }
  table.add({"window", format_daily_hours(*budget.window), span_text(longest), "",
             "the longest task; what does not fit into one window goes on in the next"});
}

}  // namespace

std::string budgets_table(const StudyInput& input, const Plan& plan, Colour colour) {
  Table table({{"budget", Align::left},
               {"limit", Align::right},
               {"at worst", Align::right},
               {"likely", Align::right},
               {"", Align::left}});
  add_hours(input, plan, table);
  add_experiments(input, plan, table);
  add_nodes(input, plan, table);
  add_times(input, plan, table);
  return table.empty() ? std::string() : "\n" + table.render(colour);
}

}  // namespace slurmtune
