// SPDX-License-Identifier: MIT
#include "slurmtune/runner/lane/node_report.hpp"

#include <nlohmann/json.hpp>

#include "slurmtune/runner/node/cpu_probe.hpp"

namespace slurmtune {

Words to_words(const NodeQuestion& question) {
  return {std::to_string(question.needs.processes), std::to_string(question.needs.gpus),
          question.measures ? "1" : "0"};
}

NodeQuestion read_node_question(WordReader& words) {
  NodeQuestion question;
  question.needs.processes = static_cast<int>(words.integer());
  question.needs.gpus = static_cast<int>(words.integer());
  question.measures = words.integer() != 0;
  return question;
}

Words to_words(const NodeReport& report) {
  // The kernel's words for a processor or an interface are not ours to trust.
  constexpr auto replace = Json::error_handler_t::replace;
  return {report.problem, to_json(report.record).dump(-1, ' ', false, replace)};
}

NodeReport read_node_report(WordReader& words) {
  NodeReport report;
  report.problem = words.text();
  const Json json = Json::parse(words.text(), nullptr, false);
  auto record = node_from_json(json, "the report of a node");
  if (record) {
    report.record = *std::move(record);
  } else if (report.problem.empty()) {
    report.problem = record.error().message;
  }
  return report;
}

NodeReport report_node(const std::string& node, const NodeQuestion& question,
                       const Environment& environment) {
  NodeReport report;
  if (question.measures) {
    report.record = probe_for_task(node, environment);
  } else {
    report.record.facts = read_node_facts(node, environment);
  }
  NodeNeeds needs = question.needs;
  const int cores = cores_of_job(environment);
  if (cores == 0) needs.processes = 0;  // nobody says how many there should be
  if (const auto fit = check_node(report.record.facts, needs, cores); !fit) {
    report.problem = fit.error().message;
  }
  return report;
}

}  // namespace slurmtune
