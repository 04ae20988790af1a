// SPDX-License-Identifier: MIT
#include "slurmtune/tune/job_requests.hpp"

#include <algorithm>

#include <fmt/ranges.h>

#include "slurmtune/execute/job_script.hpp"
#include "slurmtune/study/files.hpp"
#include "slurmtune/study/task_time.hpp"
#include "slurmtune/tune/begin_time.hpp"

namespace slurmtune {

Expected<void> make_stage_directories(const StudyDirectory& directory, const StageName& stage) {
  SLURMTUNE_CHECK(make_private_directory(directory.verdicts(stage)));
  SLURMTUNE_CHECK(make_private_directory(directory.logs(stage)));
  return make_private_directory(directory.stage(stage) / "work");
}

Expected<JobScript> job_script_of(const StudyDirectory& directory, const StudyInput& input,
                                  const Plan& plan, const StudyCreated& created,
                                  const SubmitJob& action) {
  JobScript script;
  script.kind = action.kind;
  script.site = input.site;
  script.study_dir = directory.root().string();
  script.study_id = plan.study.text;
  script.study_name = plan.study_name;
  script.origin = created.origin;
  script.job_name = job_name(plan.study, action.stage, action.kind, 0);
  script.stage = action.stage;
  script.walltime = std::chrono::seconds(plan.reducer_walltime_s);
  if (action.kind == JobKind::launch) {
    SLURMTUNE_ASSERT(plan.launch.has_value());
    script.nodes_per_task = plan.launch->nodes;
    script.processes_per_node = input.spec.trial.processes_per_node;
    script.walltime = std::chrono::seconds(plan.launch->walltime_s);
    return script;
  }
  if (action.kind != JobKind::array) return script;
  script.has_budget = plan.budget_node_seconds.has_value();
  const auto index = plan.index_of(action.stage);
  SLURMTUNE_ASSERT(index.has_value());
  // By steps a stage is submitted only once it is decided about.
  if (*index > 0 && created.submit != "step") script.previous = plan.stages[*index - 1].name;
  script = array_script(std::move(script), plan.stages[*index]);
  script.processes_per_node = input.spec.trial.processes_per_node * input.spec.lanes_per_node;
  script.tasks = action.tasks.value_or(1);
  script.first_slice = action.first_slice;
  return script;
}

std::string excluded_nodes(const StudyInput& input, const StudyState& state) {
  if (state.excluded_nodes.empty()) return "";
  std::vector<std::string> nodes = input.site.exclude;
  nodes.insert(nodes.end(), state.excluded_nodes.begin(), state.excluded_nodes.end());
  return fmt::format("{}", fmt::join(nodes, ","));
}

Expected<JobRequest> prepare_job(const StudyDirectory& directory, const StudyInput& input,
                                 const Plan& plan, const StudyState& state, const SubmitJob& action,
                                 Instant now) {
  SLURMTUNE_TRY(const JobScript script,
                job_script_of(directory, input, plan, state.created, action));
  SLURMTUNE_TRY(const std::string text, render_job_script(script));
  if (!action.stage.empty()) SLURMTUNE_CHECK(make_stage_directories(directory, action.stage));
  SLURMTUNE_CHECK(make_private_directory(log_directory(script)));
  SLURMTUNE_CHECK(replace_file(script_path(script), text, Durability::cached));

  JobRequest request;
  request.name = job_name(plan.study, action.stage, action.kind, action.attempt);
  request.script = script_path(script);
  request.workdir = directory.root().string();
  request.array_tasks = action.tasks;
  for (const std::int64_t job : action.after_any) request.after_any.push_back({job});
  if (action.kind == JobKind::array) {
    request.exclude = excluded_nodes(input, state);
    const std::int64_t at_once = plan.stages[*plan.index_of(action.stage)].tasks_at_once;
    if (at_once > 0 && at_once < action.tasks.value_or(1)) request.array_at_once = at_once;
  }
  const bool is_first = action.kind == JobKind::array && action.after_any.empty() &&
                        action.stage == plan.stages.front().name;
  if (is_first && !input.site.begin.empty()) {
    SLURMTUNE_TRY(request.begin, begin_time(input.site.begin, state.created_at));
  }
  if (action.kind == JobKind::guard && state.deadline) {
    request.begin = *state.deadline - guard_margin;
  }
  if (action.kind == JobKind::array && state.created.window) {
    const std::chrono::seconds needed(plan.stages[*plan.index_of(action.stage)].task_walltime_s);
    const Instant earliest = std::max(now, request.begin.value_or(now));
    const Instant begin = state.created.window->begin_for(earliest, needed);
    if (begin > now) request.begin = begin;
  }
  return request;
}

}  // namespace slurmtune
