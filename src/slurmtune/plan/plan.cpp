// SPDX-License-Identifier: MIT
#include "slurmtune/plan/plan.hpp"

#include <algorithm>
#include <utility>

#include <nlohmann/json.hpp>

#include "slurmtune/record/json_fields.hpp"

namespace slurmtune {

namespace {

constexpr std::string_view format_name = "slurmtune.plan";
constexpr int format_version = 1;

Json to_json(const PlannedStage& stage) {
  return {{"stage", stage.name.text},
          {"kind", name_of(stage.kind)},
          {"round", stage.round},
          {"mandatory", stage.mandatory},
          {"experiments_max", stage.experiments_max},
          {"tasks_max", stage.tasks_max},
          {"tasks_at_once", stage.tasks_at_once},
          {"nodes_per_task", stage.nodes_per_task},
          {"task_walltime_s", stage.task_walltime_s},
          {"worst_node_seconds", stage.worst_node_seconds},
          {"likely_node_seconds", stage.likely_node_seconds},
          {"likely_experiments", stage.likely_experiments}};
}

Expected<PlannedStage> stage_from_json(const Json& json, std::string_view where) {
  PlannedStage stage;
  JsonFields fields(json, where);
  fields.required("stage", stage.name);
  fields.required_name("kind", stage.kind, purpose_named);
  fields.required("round", stage.round);
  fields.required("mandatory", stage.mandatory);
  fields.required("experiments_max", stage.experiments_max);
  fields.required("tasks_max", stage.tasks_max);
  fields.required("tasks_at_once", stage.tasks_at_once);
  fields.required("nodes_per_task", stage.nodes_per_task);
  fields.required("task_walltime_s", stage.task_walltime_s);
  fields.required("worst_node_seconds", stage.worst_node_seconds);
  fields.required("likely_node_seconds", stage.likely_node_seconds);
  fields.required("likely_experiments", stage.likely_experiments);
  fields.check(stage.experiments_max >= 1, "experiments_max must be at least 1");
  fields.check(stage.tasks_max >= 1, "tasks_max must be at least 1");
  fields.check(stage.tasks_at_once >= 1, "tasks_at_once must be at least 1");
  fields.check(stage.nodes_per_task >= 1, "nodes_per_task must be at least 1");
  fields.check(stage.task_walltime_s >= 1, "task_walltime_s must be at least 1");
  return fields.into(std::move(stage));
}

Expected<PlannedLaunch> launch_from_json(const Json& json, std::string_view where) {
  PlannedLaunch launch;
  JsonFields fields(json, where);
  fields.required("nodes", launch.nodes);
  fields.required("walltime_s", launch.walltime_s);
  fields.check(launch.nodes >= 1, "nodes must be at least 1");
  fields.check(launch.walltime_s >= 1, "walltime_s must be at least 1");
  return fields.into(launch);
}

Expected<Plan> plan_from_json(const Json& json, std::string_view where) {
  SLURMTUNE_CHECK(check_format(json, format_name, format_version, where));
  Plan plan;
  JsonFields fields(json, where);
  fields.required("study", plan.study);
  fields.required("study_name", plan.study_name);
  fields.required("inputs", plan.inputs);
  fields.required("stages", plan.stages, stage_from_json);
  fields.required("pruned", plan.pruned, dropped_from_json);
  fields.required("notes", plan.notes);
  fields.required("reducer_walltime_s", plan.reducer_walltime_s);
  fields.optional("array_tasks_max", plan.array_tasks_max);
  fields.optional("submit", plan.submit);
  fields.optional("submit_why", plan.submit_why);
  fields.required("grid_size", plan.grid_size);
  fields.optional("budget_node_seconds", plan.budget_node_seconds);
  fields.optional("lone_job_node_seconds", plan.lone_job_node_seconds);
  fields.optional("asked_node_seconds", plan.asked_node_seconds);
  fields.optional("asked_experiments", plan.asked_experiments);
  fields.required("worst_node_seconds", plan.worst_node_seconds);
  fields.required("likely_node_seconds", plan.likely_node_seconds);
  fields.optional("launch", plan.launch, launch_from_json);
  fields.check(!plan.stages.empty(), "stages must not be empty");
  return fields.into(std::move(plan));
}

}  // namespace

std::optional<std::size_t> Plan::index_of(const StageName& name) const {
  const auto found = std::find_if(stages.begin(), stages.end(),
                                  [&](const PlannedStage& stage) { return stage.name == name; });
  if (found == stages.end()) return std::nullopt;
  return static_cast<std::size_t>(found - stages.begin());
}

StageRequest stage_request(const Plan& plan, std::size_t index) {
  SLURMTUNE_ASSERT(index < plan.stages.size());
  const PlannedStage& stage = plan.stages[index];
  StageRequest request{.study = plan.study,
                       .inputs = plan.inputs,
                       .name = stage.name,
                       .kind = stage.kind,
                       .round = stage.round,
                       .experiments_max = stage.experiments_max,
                       .tasks_max = stage.tasks_max,
                       .nodes_per_task = stage.nodes_per_task,
                       .task_walltime_s = stage.task_walltime_s,
                       .node_seconds_cap = std::nullopt};
  if (plan.budget_node_seconds) request.node_seconds_cap = stage.worst_node_seconds;
  return request;
}

Expected<std::string> render_plan(const Plan& plan) {
  Json json = {{"format", format_name},
               {"version", format_version},
               {"study", plan.study.text},
               {"study_name", plan.study_name},
               {"inputs", plan.inputs},
               {"stages", Json::array()},
               {"pruned", Json::array()},
               {"notes", plan.notes},
               {"reducer_walltime_s", plan.reducer_walltime_s},
               {"grid_size", plan.grid_size},
               {"worst_node_seconds", plan.worst_node_seconds},
               {"likely_node_seconds", plan.likely_node_seconds}};
  const auto put_unless_none = [&](const char* key, std::int64_t value) {
    if (value > 0) json[key] = value;
  };
  put_unless_none("lone_job_node_seconds", plan.lone_job_node_seconds);
  put_unless_none("asked_node_seconds", plan.asked_node_seconds);
  put_unless_none("asked_experiments", plan.asked_experiments);
  put(json, "budget_node_seconds", plan.budget_node_seconds);
  if (plan.array_tasks_max > 0) json["array_tasks_max"] = plan.array_tasks_max;
  if (!plan.submit.empty()) json["submit"] = plan.submit;
  if (!plan.submit_why.empty()) json["submit_why"] = plan.submit_why;
  if (plan.launch) {
    json["launch"] = {{"nodes", plan.launch->nodes}, {"walltime_s", plan.launch->walltime_s}};
  }
  for (const PlannedStage& stage : plan.stages) json["stages"].push_back(to_json(stage));
  for (const Dropped& dropped : plan.pruned) json["pruned"].push_back(json_of(dropped));
  SLURMTUNE_TRY(std::string text, canonical_json(json));
  return text + '\n';
}

Expected<Plan> parse_plan(std::string_view text, std::string_view where) {
  SLURMTUNE_TRY(const Json json, parse_json(text, where));
  return plan_from_json(json, where);
}

}  // namespace slurmtune
