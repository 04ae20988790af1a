// SPDX-License-Identifier: MIT
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "slurmtune/report/budgets.hpp"
#include "slurmtune/report/expected_end.hpp"
#include "slurmtune/report/progress.hpp"
#include "slurmtune/report/status_waits.hpp"
#include "slurmtune/report/table.hpp"
#include "slurmtune/report/text.hpp"
#include "slurmtune/report/training_words.hpp"

namespace slurmtune {

namespace {

Json to_json(const StageProgress& stage) {
  Json outcomes = Json::object();
  for (const auto& [outcome, count] : stage.outcomes)
    outcomes[std::string(name_of(outcome))] = count;
  return {{"stage", stage.name.text},
          {"state", name_of(stage.state)},
          {"experiments", stage.experiments},
          {"done", stage.done},
          {"running", stage.running},
          {"waiting", stage.waiting},
          {"outcomes", outcomes}};
}

Json best_json(const StudyInput& input, const StudyView& view) {
  const auto leader = leader_of(input, view);
  const bool nothing = view.state.finished && !view.state.finished->best;
  if (!leader || nothing) return nullptr;
  Json best{{"configuration", leader->configuration.text},
            {"label", leader->label},
            {"decided", leader->decided}};
  best["throughput"] = leader->throughput ? to_json(*leader->throughput) : Json(nullptr);
  best["objective"] = to_json(leader->objective);
  return best;
}

Json instant_or_null(const std::optional<Instant>& at) {
  return at ? Json(format_instant(*at)) : Json(nullptr);
}

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

Json budgets_json(const StatusInput& status) {
  Json budgets = Json::array();
  for (const BudgetLine& line : budget_lines(status.input, status.view)) {
    budgets.push_back({{"name", line.name},
                       {"spent", line.spent},
                       {"limit", number_or_null(line.limit)},
                       {"left", number_or_null(line.left())}});
  }
  return budgets;
}

Json expected_end_json(const StatusInput& status) {
  const auto end = expected_end(status.view, status.jobs, status.now);
  if (!end) return nullptr;
  return {{"at", format_instant(end->at)},
          {"experiments_left", end->experiments},
          {"experiment_s", end->experiment_s},
          {"measured", end->measured},
          {"queue_start", instant_or_null(end->queue_start)},
          {"waits_left_out", end->waits_left_out},
          {"by_deadline", end->by_deadline}};
}

}  // namespace

Json status_json(const StatusInput& status) {
  const StudyView& view = status.view;
  const auto stages = progress_of(view);
  Json json{{"format", "slurmtune.status"},
            {"version", 1},
            {"study", view.plan.study.text},
            {"name", view.plan.study_name},
            {"directory", status.directory.root().string()},
            {"at", format_instant(status.now)},
            {"finished", view.state.finished.has_value()},
            {"cancelled", view.state.cancelled},
            {"used_node_seconds", used_node_seconds(view)},
            {"spent_node_seconds", spent_node_seconds(view)},
            {"waits_for", waits_for(status, stages)}};
  json["queue_error"] = status.queue_error.empty() ? Json(nullptr) : Json(status.queue_error);
  json["stop"] = view.state.finished ? Json(name_of(view.state.finished->stop)) : Json(nullptr);
  json["budget_node_seconds"] =
      view.plan.budget_node_seconds ? Json(*view.plan.budget_node_seconds) : Json(nullptr);
  json["budgets"] = budgets_json(status);
  json["deadline"] = instant_or_null(view.state.deadline);
  json["expected_end"] = expected_end_json(status);
  json["training"] = training_json(view);
  json["best"] = best_json(status.input, view);
  json["stages"] = Json::array();
  for (const StageProgress& stage : stages) json["stages"].push_back(to_json(stage));
  json["jobs"] = Json::array();
  const JobsByNumber records = jobs_by_number(view);
  for (const JobReport& report : status.jobs) {
    const auto record = records.find(report.job.number);
    Json job{{"job", report.job.number},
             {"name", record == records.end() ? report.name : record->second->name},
             {"state", name_of(report.state)},
             {"reason", report.reason},
             {"nodes", report.nodes}};
    job["task"] = report.task ? Json(*report.task) : Json(nullptr);
    job["starts"] = instant_or_null(report.starts);
    json["jobs"].push_back(std::move(job));
  }
  return json;
}

}  // namespace slurmtune
