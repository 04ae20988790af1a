// SPDX-License-Identifier: MIT
#include "slurmtune/report/doctor.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "slurmtune/report/table.hpp"

namespace slurmtune {

namespace {

constexpr std::array checks{
    DoctorCheck{"disk", check_disk},
    DoctorCheck{"programs", check_programs},
    DoctorCheck{"queue", check_queue_answers},
    DoctorCheck{"intent", check_open_intent},
    DoctorCheck{"jobs", check_missing_jobs},
    DoctorCheck{"reducer", check_reducer},
    DoctorCheck{"reason", check_reasons},
    DoctorCheck{"partition", check_partitions},
    DoctorCheck{"nodes", check_nodes},
    DoctorCheck{"trials", check_trials},
    DoctorCheck{"gpus", check_gpus},
    DoctorCheck{"budget", check_budget},
    DoctorCheck{"deadline", check_deadline},
    DoctorCheck{"clock", check_clocks},
    DoctorCheck{"site", check_jobs_may_submit},
    DoctorCheck{"draft", check_drafts},
};

}  // namespace

std::string_view name_of(Severity severity) {
  return severity == Severity::blocks ? "blocks" : "note";
}

std::span<const DoctorCheck> doctor_checks() { return checks; }

std::vector<Finding> diagnose(const DoctorInput& facts) {
  std::vector<Finding> findings;
  for (const DoctorCheck& check : checks) check.find(facts, findings);
  // A study that is over needs none of its queue, its disk and its clocks.
  if (facts.view.state.finished) {
    std::erase_if(findings, [](const Finding& finding) {
      constexpr std::array told{"trials", "budget", "gpus", "site", "draft"};
      return std::find(told.begin(), told.end(), finding.check) == told.end();
    });
    for (Finding& finding : findings) finding.severity = Severity::note;
  }
  std::stable_sort(findings.begin(), findings.end(), [](const Finding& a, const Finding& b) {
    return a.severity == Severity::blocks && b.severity != Severity::blocks;
  });
  return findings;
}

std::string doctor_text(const DoctorInput& facts, std::span<const Finding> findings,
                        Colour colour) {
  std::string text;
  for (const Finding& finding : findings) {
    const bool blocks = finding.severity == Severity::blocks;
    text += fmt::format(
        "{} {}\n",
        paint(blocks ? "in the way:" : "note:      ", blocks ? Paint::red : Paint::yellow, colour),
        finding.what);
    if (!finding.remedy.empty()) text += fmt::format("            {}\n", finding.remedy);
  }
  if (facts.view.state.finished) {
    text += fmt::format("the study is finished ({}): slurmtune report {}\n",
                        name_of(facts.view.state.finished->stop), facts.directory);
  } else if (findings.empty() || findings.front().severity != Severity::blocks) {
    text += "nothing stands in the way of this study\n";
  }
  return text;
}

Json doctor_json(const DoctorInput& facts, std::span<const Finding> findings) {
  Json json{{"format", "slurmtune.doctor"},
            {"version", 1},
            {"study", facts.view.plan.study.text},
            {"directory", facts.directory},
            {"at", format_instant(facts.now)},
            {"finished", facts.view.state.finished.has_value()},
            {"blocked", !findings.empty() && findings.front().severity == Severity::blocks},
            {"findings", Json::array()}};
  for (const Finding& finding : findings) {
    json["findings"].push_back({{"check", finding.check},
                                {"severity", name_of(finding.severity)},
                                {"what", finding.what},
                                {"remedy", finding.remedy}});
  }
  return json;
}

}  // namespace slurmtune
