// SPDX-License-Identifier: MIT
#include "slurmtune/report/budgets.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/study/spending.hpp"

namespace slurmtune {

namespace {

constexpr double hour_s = 3600.0;

std::string figure(const BudgetLine& line, double value) {
  return line.name == "experiments" ? fmt::format("{:.0f}", value) : fmt::format("{:.2f}", value);
}

}  // namespace

std::int64_t spent_gpu_seconds(const StudyView& view) {
  std::int64_t spent = 0;
  for (const StageView& stage : view.stages) {
    for (const Shard& shard : stage.shards) {
      const std::int64_t nodes = std::max(1, shard.start.allocated_nodes);
      if (shard.end) {
        spent += shard.end->node_seconds / nodes * shard.start.gpus;
      } else if (stage.manifest) {
        spent += stage.manifest->task_walltime_s * shard.start.gpus;
      }
    }
  }
  return spent;
}

std::int64_t experiments_started(const StudyView& view) {
  std::set<std::pair<ExperimentId, int>> started;
  for (const StageView& stage : view.stages) {
    for (const Shard& shard : stage.shards) {
      for (const Verdict& verdict : shard.verdicts) {
        if (verdict.outcome == Outcome::not_started) continue;
        started.insert({verdict.experiment, verdict.attempt});
      }
    }
  }
  return static_cast<std::int64_t>(started.size());
}

std::vector<BudgetLine> budget_lines(const StudyInput& input, const StudyView& view) {
  const BudgetSpec budget = with_extension(input, view.state.extension).spec.budget;
  std::vector<BudgetLine> lines;
  BudgetLine nodes{.name = "node-hours",
                   .spent = static_cast<double>(spent_node_seconds(view)) / hour_s,
                   .limit = std::nullopt};
  if (view.plan.budget_node_seconds) {
    nodes.limit = static_cast<double>(*view.plan.budget_node_seconds) / hour_s;
  }
  lines.push_back(nodes);
  const bool has_gpus = input.site.gpus_per_node.value_or(0) > 0;
  const std::int64_t gpu_seconds = spent_gpu_seconds(view);
  if (has_gpus || gpu_seconds > 0 || budget.max_gpu_hours) {
    lines.push_back({.name = "GPU-hours",
                     .spent = static_cast<double>(gpu_seconds) / hour_s,
                     .limit = budget.max_gpu_hours});
  }
  BudgetLine experiments{.name = "experiments",
                         .spent = static_cast<double>(experiments_started(view)),
                         .limit = std::nullopt};
  if (budget.max_experiments) experiments.limit = static_cast<double>(*budget.max_experiments);
  lines.push_back(experiments);
  return lines;
}

std::string in_words(const BudgetLine& line) {
  std::string text = figure(line, line.spent);
  if (const auto left = line.left()) {
    text += fmt::format(" of {}, {} left", figure(line, *line.limit), figure(line, *left));
  }
  return text;
}

}  // namespace slurmtune
