// SPDX-License-Identifier: MIT
#include "slurmtune/report/results_csv.hpp"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "slurmtune/model/objective.hpp"

namespace slurmtune {

namespace {

/// Shortest form that reads back to the same number.
std::string number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string line_of(const std::vector<std::string>& fields) {
  std::string line;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    line += (i == 0 ? "" : ",") + csv_field(fields[i]);
  }
  return line + "\n";
}

struct Row {
  const Experiment* experiment = nullptr;
  const Verdict* verdict = nullptr;
};

/// The verdicts of a stage, in the order of its manifest, then of tries and time.
std::vector<Row> rows_of(const StageView& stage) {
  std::vector<Row> rows;
  if (!stage.manifest) return rows;
  for (const Experiment& experiment : stage.manifest->experiments) {
    const auto first = static_cast<std::ptrdiff_t>(rows.size());
    for (const Shard& shard : stage.shards) {
      for (const Verdict& verdict : shard.verdicts) {
        if (verdict.experiment == experiment.id) rows.push_back({&experiment, &verdict});
      }
    }
    std::stable_sort(rows.begin() + first, rows.end(), [](const Row& a, const Row& b) {
      return std::pair(a.verdict->attempt, a.verdict->started) <
             std::pair(b.verdict->attempt, b.verdict->started);
    });
  }
  return rows;
}

std::string csv_line(const StageName& stage, const Row& row,
                     const std::set<std::string>& parameters, const Objective* objective) {
  const Experiment& experiment = *row.experiment;
  const Verdict& verdict = *row.verdict;
  const Metrics& metrics = verdict.metrics;
  const auto measured = objective != nullptr
                            ? objective->measured(verdict, experiment.configuration.values)
                            : std::nullopt;
  const auto part = [&](double Interval::*bound) -> std::optional<double> {
    if (!metrics.throughput) return std::nullopt;
    return (*metrics.throughput).*bound;
  };
  std::vector<std::string> fields{experiment.id.text,
                                  experiment.label,
                                  stage.text,
                                  std::string(name_of(experiment.purpose)),
                                  fmt::to_string(experiment.repeat),
                                  fmt::to_string(verdict.attempt),
                                  std::string(name_of(verdict.outcome)),
                                  number(part(&Interval::low)),
                                  number(part(&Interval::mid)),
                                  number(part(&Interval::high)),
                                  metrics.step_s ? number(metrics.step_s->mid) : "",
                                  number(metrics.peak_gpu_bytes),
                                  fmt::format("{}", fmt::join(verdict.nodes, " ")),
                                  format_instant(verdict.started),
                                  number(verdict.wall_s),
                                  number(measured)};
  for (const std::string& name : parameters) {
    const auto value = experiment.configuration.values.find(name);
    fields.push_back(value == experiment.configuration.values.end() ? ""
                                                                    : format_value(value->second));
  }
  return line_of(fields);
}

}  // namespace

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string render_results_csv(const StudyInput& input, const StudyView& view) {
  const auto objective = Objective::compile(input);
  std::set<std::string> parameters;
  for (const StageView& stage : view.stages) {
    if (!stage.manifest) continue;
    for (const Experiment& experiment : stage.manifest->experiments) {
      for (const auto& [name, value] : experiment.configuration.values) parameters.insert(name);
    }
  }
  std::vector<std::string> header{"experiment",     "label",           "stage",   "purpose",
                                  "repeat",         "attempt",         "outcome", "throughput_low",
                                  "throughput_mid", "throughput_high", "step_s",  "peak_gpu_bytes",
                                  "nodes",          "started",         "wall_s",  "objective"};
  header.insert(header.end(), parameters.begin(), parameters.end());
  std::string text = line_of(header);
  for (const StageView& stage : view.stages) {
    for (const Row& row : rows_of(stage)) {
      text += csv_line(stage.manifest->stage, row, parameters, objective ? &*objective : nullptr);
    }
  }
  return text;
}

}  // namespace slurmtune
