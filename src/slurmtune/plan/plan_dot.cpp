// SPDX-License-Identifier: MIT
#include "slurmtune/plan/plan_dot.hpp"

#include <algorithm>
#include <chrono>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "slurmtune/base/instant.hpp"
#include "slurmtune/plan/shape.hpp"

namespace slurmtune {

namespace {

std::string duration(std::int64_t seconds) {
  return format_duration(std::chrono::seconds(seconds));
}

/// A string of Graphviz: quotes and backslashes escaped. A study's name is the user's text.
std::string quoted(std::string_view text) {
  std::string escaped = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped + '"';
}

std::string array_node(const PlannedStage& stage) {
  std::string tasks =
      fmt::format("{} {}", stage.tasks_max, stage.tasks_max == 1 ? "task" : "tasks");
  if (stage.tasks_at_once < stage.tasks_max) {
    tasks += fmt::format(", {} at once", stage.tasks_at_once);
  }
  return fmt::format(
      "  \"{0}\" [shape=box{1} label=\"{0}\\n{2} experiments at most\\n{3}\\n{4} x {5}\"];\n",
      stage.name.text, stage.mandatory ? "" : " style=dashed", stage.experiments_max, tasks,
      stage.nodes_per_task == 1 ? "1 node" : fmt::format("{} nodes", stage.nodes_per_task),
      duration(stage.task_walltime_s));
}

std::string reducer_of(const PlannedStage& stage) { return stage.name.text + " reducer"; }

std::string reducer_node(const PlannedStage& stage, const Plan& plan) {
  return fmt::format("  \"{}\" [shape=ellipse label=\"reduce\\n{}\"];\n", reducer_of(stage),
                     duration(plan.reducer_walltime_s));
}

std::string edge(std::string_view from, std::string_view to, std::string_view label = "") {
  if (label.empty()) return fmt::format("  \"{}\" -> \"{}\";\n", from, to);
  return fmt::format("  \"{}\" -> \"{}\" [label=\"{}\"];\n", from, to, label);
}

/// The job of the training, behind what ends the tuning.
std::string launch_of(const Plan& plan, std::string_view before) {
  if (!plan.launch) return "";
  return fmt::format(
             "  \"launch\" [shape=box label=\"launch\\n{} x {}\"];\n",
             plan.launch->nodes == 1 ? "1 node" : fmt::format("{} nodes", plan.launch->nodes),
             duration(plan.launch->walltime_s)) +
         edge(before, "launch");
}

constexpr std::string_view guard_node =
    "  \"guard\" [shape=ellipse label=\"guard\\nbegins before the deadline\"];\n";

/// All stages, each joined to the one before.
std::string stages_of(const Plan& plan, std::string_view to_next) {
  std::string dot;
  std::string before;
  for (const PlannedStage& stage : plan.stages) {
    dot += array_node(stage) + reducer_node(stage, plan);
    if (!before.empty()) dot += edge(before, stage.name.text, to_next);
    dot += edge(stage.name.text, reducer_of(stage));
    before = reducer_of(stage);
  }
  return dot;
}

std::string last_reducer(const Plan& plan) {
  return plan.stages.empty() ? "" : reducer_of(plan.stages.back());
}

std::string graph_of(const Plan& plan) {
  return "  edge [label=\"afterany\"];\n" + std::string(guard_node) + stages_of(plan, "") +
         "  \"final\" [shape=ellipse];\n" + edge(last_reducer(plan), "final") +
         launch_of(plan, "final");
}

/// The last reducer ends the study; where one dies, the one behind it does its work.
std::string steps_of(const Plan& plan) {
  std::string dot = "  edge [label=\"afterany\"];\n" + std::string(guard_node);
  dot += stages_of(plan, "submits");
  for (const PlannedStage& stage : plan.stages) {
    const std::string second = stage.name.text + " second reducer";
    dot += fmt::format(
        "  \"{}\" [shape=ellipse style=dotted label=\"reduce\\nif the first died\"];\n", second);
    dot += edge(reducer_of(stage), second);
  }
  return dot + launch_of(plan, last_reducer(plan));
}

/// What holds the stages of a study that is no graph of jobs.
std::string frame_label(const Plan& plan, const WholeJobs& whole) {
  if (plan.submit == name_of(SubmitMode::local)) return "this machine";
  int nodes = 1;
  for (const PlannedStage& stage : plan.stages) nodes = std::max(nodes, stage.nodes_per_task);
  const std::string on = nodes == 1 ? "1 node" : fmt::format("{} nodes", nodes);
  if (plan.submit == name_of(SubmitMode::allocation)) return "the allocation: " + on;
  const std::string job = fmt::format("{} x {}", on, duration(whole.walltime_s));
  if (whole.jobs_max == 1) return "one job: " + job;
  return fmt::format("a chain of {} jobs at most: {} each", whole.jobs_max, job);
}

std::string frame_of(const Plan& plan, const WholeJobs& whole) {
  std::string dot =
      fmt::format("  subgraph \"cluster_job\" {{\n  label={};\n", quoted(frame_label(plan, whole)));
  dot += "  edge [label=\"then\"];\n" + stages_of(plan, "");
  return dot + launch_of(plan, last_reducer(plan)) + "  }\n";
}

}  // namespace

std::string render_dot(const Plan& plan, const WholeJobs& whole) {
  const bool is_framed = plan.submit == name_of(SubmitMode::one_job) ||
                         plan.submit == name_of(SubmitMode::allocation) ||
                         plan.submit == name_of(SubmitMode::local);
  const std::string jobs = is_framed                                  ? frame_of(plan, whole)
                           : plan.submit == name_of(SubmitMode::step) ? steps_of(plan)
                                                                      : graph_of(plan);
  return fmt::format("digraph {} {{\n  rankdir=LR;\n{}}}\n", quoted(plan.study_name), jobs);
}

}  // namespace slurmtune
