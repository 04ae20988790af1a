// SPDX-License-Identifier: MIT
#include "slurmtune/plan/plan_dot.hpp"

#include <chrono>
#include <string_view>

#include <fmt/format.h>

#include "slurmtune/base/instant.hpp"

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

}  // namespace

std::string render_dot(const Plan& plan) {
  std::string dot = fmt::format("digraph {} {{\n  rankdir=LR;\n", quoted(plan.study_name));
  dot += "  edge [label=\"afterany\"];\n";
  dot += "  \"guard\" [shape=ellipse label=\"guard\\nbegins before the deadline\"];\n";
  std::string before;
  for (const PlannedStage& stage : plan.stages) {
    const std::string reducer = stage.name.text + " reducer";
    dot += array_node(stage);
    dot += fmt::format("  \"{}\" [shape=ellipse label=\"reduce\\n{}\"];\n", reducer,
                       duration(plan.reducer_walltime_s));
    if (!before.empty()) dot += fmt::format("  \"{}\" -> \"{}\";\n", before, stage.name.text);
    dot += fmt::format("  \"{}\" -> \"{}\";\n", stage.name.text, reducer);
    before = reducer;
  }
  dot += "  \"final\" [shape=ellipse];\n";
  dot += fmt::format("  \"{}\" -> \"final\";\n}}\n", before);
  return dot;
}

}  // namespace slurmtune
