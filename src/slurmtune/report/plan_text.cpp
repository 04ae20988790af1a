// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/format.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/plan/shape.hpp"
#include "slurmtune/report/budget_text.hpp"
#include "slurmtune/report/report_body.hpp"
#include "slurmtune/report/table.hpp"
#include "slurmtune/report/text.hpp"

namespace slurmtune {

namespace {

using Align = Table::Align;

std::string what_is_tuned(const StudyInput& input, const Plan& plan) {
  const TrialSpec& trial = input.spec.trial;
  std::string text =
      fmt::format("  an experiment   {} node{} x {} process{}, {} of them at once in a task\n",
                  trial.nodes, trial.nodes == 1 ? "" : "s", trial.processes_per_node,
                  trial.processes_per_node == 1 ? "" : "es", input.spec.lanes);
  if (input.spec.deepspeed) {
    std::string stages;
    for (const int stage : input.spec.deepspeed->zero_stages) {
      stages += fmt::format("{}{}", stages.empty() ? "" : ", ", stage);
    }
    text += fmt::format("  ZeRO stages     {}\n", stages);
  }
  if (input.spec.batch.global) {
    text += fmt::format("  global batch    {} for all\n", *input.spec.batch.global);
  } else if (input.spec.batch.max_global) {
    text +=
        fmt::format("  global batch    one for all, at most {}\n", *input.spec.batch.max_global);
  }
  text += plan.grid_size > 0 ? fmt::format("  the whole space {} valid configurations{}\n",
                                           plan.grid_size, beyond_the_space(plan))
                             : std::string("  the whole space too large to count\n");
  return text + fmt::format("  site            {}\n", input.site.name);
}

/// True if the stages run one after another on nodes that are kept between them.
bool is_on_nodes_of_its_own(const Plan& plan) {
  return plan.submit == name_of(SubmitMode::one_job) ||
         plan.submit == name_of(SubmitMode::allocation);
}

std::string_view how_stages_run(const Plan& plan) {
  if (plan.submit == "step") {
    return "Stages: one job array each, then its reducer, which submits the next one";
  }
  if (is_on_nodes_of_its_own(plan)) {
    return "Stages: one after another inside one job";
  }
  return "Stages: one job array each, then its reducer (all edges afterany)";
}

std::string stages_table(const Plan& plan, Colour colour) {
  Table table({{"stage", Align::left},
               {"experiments", Align::right},
               {"likely", Align::right},
               {"tasks", Align::right},
               {"at once", Align::right},
               {"nodes", Align::right},
               {"walltime", Align::right},
               {"worst node-h", Align::right},
               {"likely node-h", Align::right},
               {"", Align::left}});
  for (const PlannedStage& stage : plan.stages) {
    table.add({stage.name.text, fmt::to_string(stage.experiments_max),
               fmt::to_string(stage.likely_experiments), fmt::to_string(stage.tasks_max),
               fmt::to_string(stage.tasks_at_once), fmt::to_string(stage.nodes_per_task),
               walltime_text(stage.task_walltime_s), node_hours(stage.worst_node_seconds),
               node_hours(stage.likely_node_seconds), stage.mandatory ? "" : "if needed"});
  }
  return table.render(colour);
}

/// What the figures of the cost hold besides array tasks, and what they do not.
std::string lone_jobs_text(const Plan& plan) {
  const std::string jobs = fmt::format("{} reducers, guard and final of {} each",
                                       plan.stages.size(), walltime_text(plan.reducer_walltime_s));
  std::string text = plan.lone_job_node_seconds > 0 ? fmt::format(" (with {})\n", jobs) : "\n";
  if (is_on_nodes_of_its_own(plan)) {
    return text +
           "  the nodes are held between the stages, too, while reducers run: seconds each, which "
           "no budget counts\n";
  }
  if (plan.lone_job_node_seconds > 0) return text;
  return text +
         fmt::format(
             "  not counted, nor by the budget: {} at most; the share of a node that they take "
             "is not known (site key cpus_per_node)\n",
             jobs);
}

std::string cost(const Plan& plan, Colour colour) {
  std::string text =
      fmt::format("  likely {}, at worst {}", format_node_hours(plan.likely_node_seconds),
                  format_node_hours(plan.worst_node_seconds)) +
      lone_jobs_text(plan);
  if (plan.launch) {
    text += fmt::format(
        "  then the training with the winner: {} node{} for {} at most, not part of the budget\n",
        plan.launch->nodes, plan.launch->nodes == 1 ? "" : "s",
        walltime_text(plan.launch->walltime_s));
  }
  if (plan.budget_node_seconds) return text;
  return text + "  " +
         paint("no budget: the worst case is the only limit; set budget.max_node_hours",
               Paint::yellow, colour) +
         "\n";
}

}  // namespace

std::string_view beyond_the_space(const Plan& plan) {
  const bool has_knobs =
      std::ranges::find(plan.stages, Purpose::knobs, &PlannedStage::kind) != plan.stages.end();
  return has_knobs ? ", without knobs" : "";
}

std::string plan_text(const StudyInput& input, const Plan& plan, Colour colour) {
  const auto heading = [&](std::string_view text) {
    return "\n" + paint(text, Paint::bold, colour) + "\n";
  };
  std::string text = paint("Plan of " + one_line(plan.study_name), Paint::bold, colour) + "\n";
  text += what_is_tuned(input, plan);
  text += heading(how_stages_run(plan));
  text += plan.stages.empty() ? std::string("  none\n") : stages_table(plan, colour);
  text += heading("Cost") + cost(plan, colour) + budgets_table(input, plan, colour);
  if (!plan.pruned.empty()) {
    text += heading("Left out before anything runs");
    Table table({{"what", Align::left}, {"because", Align::left}});
    for (const Dropped& dropped : plan.pruned) {
      table.add({one_line(dropped.what), one_line(dropped.because, 400)});
    }
    text += table.render(colour);
  }
  if (!plan.notes.empty()) {
    text += heading("Notes");
    for (const std::string& note : plan.notes) text += "  " + one_line(note, 400) + "\n";
  }
  return text;
}

}  // namespace slurmtune
