// SPDX-License-Identifier: MIT
#include <nlohmann/json.hpp>

#include "slurmtune/report/findings.hpp"
#include "slurmtune/report/text.hpp"
#include "slurmtune/report/training_words.hpp"

namespace slurmtune {

namespace {

Json to_json(const SpaceFinding& space) {
  Json json{{"space", space.name}, {"experiments", space.experiments}, {"failed", space.failed}};
  json["best"] = space.best.empty() ? Json(nullptr) : Json(space.best);
  json["objective"] = space.objective ? to_json(*space.objective) : Json(nullptr);
  return json;
}

}  // namespace

Json report_json(const ReportInput& report) {
  const StudyView& view = report.view;
  const Findings findings = findings_of(report.input, view);
  Json json{{"format", "slurmtune.report"},
            {"version", 1},
            {"study", view.plan.study.text},
            {"name", view.plan.study_name},
            {"directory", report.directory.root().string()},
            {"finished", view.state.finished.has_value()},
            {"unit", findings.unit},
            {"result", to_json(report.result)},
            {"worst_node_seconds", view.plan.worst_node_seconds},
            {"files", written_files(report.directory)}};
  json["budget_node_seconds"] =
      view.plan.budget_node_seconds ? Json(*view.plan.budget_node_seconds) : Json(nullptr);
  json["training"] = training_json(view);
  json["spaces"] = Json::array();
  for (const SpaceFinding& space : findings.spaces) json["spaces"].push_back(to_json(space));
  json["conclusions"] = Json::array();
  for (const Conclusion& conclusion : findings.conclusions) {
    json["conclusions"].push_back(
        {{"about", conclusion.about}, {"says", conclusion.says}, {"why", conclusion.why}});
  }
  json["dropped"] = Json::array();
  for (const Dropped& dropped : findings.dropped) {
    json["dropped"].push_back({{"what", dropped.what}, {"because", dropped.because}});
  }
  json["logs"] = Json::object();
  for (const Failure& failure : report.result.failures) {
    json["logs"][failure.experiment.text] = log_of(failure, report.directory, view);
  }
  return json;
}

}  // namespace slurmtune
