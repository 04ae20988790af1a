// SPDX-License-Identifier: MIT
#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/model/host_memory.hpp"
#include "slurmtune/report/findings.hpp"
#include "slurmtune/report/learning_rate.hpp"
#include "slurmtune/report/report_body.hpp"
#include "slurmtune/report/table.hpp"
#include "slurmtune/report/text.hpp"
#include "slurmtune/report/training_words.hpp"

namespace slurmtune {

namespace {

using Align = Table::Align;

std::string heading(std::string_view text, Colour colour) {
  return "\n" + paint(text, Paint::bold, colour) + "\n";
}

std::string objective_cell(const std::optional<Interval>& interval) {
  return interval ? fmt::format("{:.4g}", interval->mid) : "-";
}

std::string interval_cell(const Interval& interval) {
  return fmt::format("{:.4g} to {:.4g}", interval.low, interval.high);
}

std::string bytes_cell(const std::optional<double>& bytes) {
  return bytes ? format_bytes(*bytes) : "-";
}

/// Names and what they are, the second aligned.
using Lines = std::vector<std::pair<std::string, std::string>>;

std::string aligned(const Lines& lines) {
  std::size_t width = 14;
  for (const auto& line : lines) width = std::max(width, width_of(line.first));
  std::string text;
  for (const auto& [name, what] : lines) text += fmt::format("  {:<{}} {}\n", name, width, what);
  return text;
}

/// `peak memory` of GPUs, where a study's nodes have some.
std::string peak_name(const StudyView& view) {
  for (const StageView& stage : view.stages) {
    for (const Shard& shard : stage.shards) {
      if (std::ranges::any_of(shard.verdicts, ran_without_gpu)) return "peak host memory";
    }
  }
  return "peak memory";
}

Lines configuration_lines(const Ranked& row, const ReportInput& report) {
  const StudyInput& input = report.input;
  Lines lines;
  for (const auto& [name, value] : row.values) {
    lines.emplace_back(name, one_line(format_value(value)));
  }
  lines.emplace_back("objective",
                     fmt::format("{}, {}", objective_in_words(row.throughput, input),
                                 row.repeats == 1 ? std::string("one run")
                                                  : fmt::format("{} repeats", row.repeats)));
  if (row.step_s) lines.emplace_back("step", fmt::format("{:.4g} s", row.step_s->mid));
  if (row.peak_gpu_bytes)
    lines.emplace_back(peak_name(report.view), format_bytes(*row.peak_gpu_bytes));
  return lines;
}

std::string winner(const ReportInput& report, Colour colour) {
  const TuningResult& result = report.result;
  if (!result.best) {
    return heading("No configuration can be recommended", colour) + "  " +
           paint(one_line(result.why, 600), Paint::red, colour) + "\n  logs           " +
           (report.directory.root() / "stages/*/logs").string() + "\n";
  }
  std::string text = heading("Best configuration", colour);
  text += "  " + paint(result.best->label, Paint::green, colour) + "\n";
  Lines lines = configuration_lines(*result.best, report);
  lines.emplace_back("is the best", "with probability " +
                                        probability_in_words(result.probability_best) +
                                        ", of those that were compared");
  return text + aligned(lines);
}

std::string baseline(const ReportInput& report, Colour colour) {
  const TuningResult& result = report.result;
  std::string text = heading("Baseline: the configuration as it was", colour);
  if (!result.baseline) {
    return text + fmt::format("  not measured: {}\n", name_of(result.baseline_outcome));
  }
  text += fmt::format("  {}\n  {:<14} {}\n", result.baseline->label, "objective",
                      objective_in_words(result.baseline->throughput, report.input));
  if (result.best && result.speedup) {
    const bool is_gain = result.speedup->low > 1.0;
    const SpeedupWords speedup = speedup_in_words(*result.speedup, report.input);
    text += fmt::format("  {:<14} {}\n", speedup.name,
                        paint(speedup.words, is_gain ? Paint::green : Paint::yellow, colour));
  }
  const std::string rate = learning_rate_note(report.input.spec, result);
  if (!rate.empty()) text += fmt::format("  {:<14} {}\n", "learning rate", rate);
  return text;
}

/// Which end of the column is the better one, where its name does not tell.
std::string ranking_title(const StudyInput& input) {
  const ObjectiveSpec& objective = input.spec.objective;
  const bool minimize = objective.direction == Direction::minimize;
  if (objective.metric == "throughput" && !minimize) return "Ranking";
  return fmt::format("Ranking: {} {} is better", minimize ? "lower" : "higher",
                     one_line(objective.metric));
}

std::string ranking(const ReportInput& report, const Findings& findings, Colour colour) {
  if (report.result.ranking.empty()) return "";
  Table table({{"", Align::right},
               {"configuration", Align::left},
               {findings.unit.empty() ? "objective" : findings.unit, Align::right},
               {"95 % interval", Align::left},
               {"repeats", Align::right},
               {"step", Align::right},
               {peak_name(report.view), Align::right}});
  int place = 0;
  for (const Ranked& row : report.result.ranking) {
    table.add({fmt::to_string(++place), row.label, fmt::format("{:.4g}", row.throughput.mid),
               interval_cell(row.throughput), fmt::to_string(row.repeats),
               row.step_s ? fmt::format("{:.4g} s", row.step_s->mid) : "-",
               bytes_cell(row.peak_gpu_bytes)},
              place == 1 ? Paint::green : Paint::plain);
  }
  return heading(ranking_title(report.input), colour) + table.render(colour);
}

std::string evidence(const Conclusion& conclusion, const StudyView& view) {
  std::set<std::string> labels;
  for (const std::string& id : conclusion.why) labels.insert(asked_label(id, view));
  if (labels.empty()) return "";
  return fmt::format(" [{}]", fmt::join(labels, ", "));
}

std::string conclusions(const ReportInput& report, const Findings& findings, Colour colour) {
  if (findings.conclusions.empty()) return "";
  std::string text = heading("What was learnt", colour);
  std::string about;
  for (const Conclusion& conclusion : findings.conclusions) {
    if (conclusion.about != about) text += "  " + conclusion.about + "\n";
    about = conclusion.about;
    text += "    " + one_line(conclusion.says, 400) + evidence(conclusion, report.view) + "\n";
  }
  return text;
}

std::string dropped(const Findings& findings, Colour colour) {
  if (findings.dropped.empty()) return "";
  Table table({{"what", Align::left}, {"because", Align::left}});
  for (const Dropped& row : findings.dropped) {
    table.add({one_line(row.what), one_line(row.because, 400)});
  }
  return heading("Left out", colour) + table.render(colour);
}

std::string failures(const ReportInput& report, Colour colour) {
  if (report.result.failures.empty()) return "";
  std::string text = heading("Failures, in the trials' own words", colour);
  for (const Failure& failure : report.result.failures) {
    text += fmt::format("  {} {}\n", failure.label,
                        paint(name_of(failure.outcome), Paint::red, colour));
    if (!failure.line.empty()) text += "    " + one_line(failure.line, 400) + "\n";
    const std::string log = log_of(failure, report.directory, report.view);
    if (!log.empty()) text += "    " + log + "\n";
  }
  const std::size_t told = report.result.failures.size();
  if (told == 20) text += "  (the first 20; results.csv has all)\n";
  return text;
}

std::string slow_nodes(const Findings& findings, Colour colour) {
  if (findings.slow_nodes.empty()) return "";
  std::string text = heading("Slow nodes", colour);
  std::vector<std::string> names;
  for (const NodeRecord& node : findings.slow_nodes) {
    text += fmt::format("  {}: {}\n", node.facts.node, one_line(node.slow, 400));
    names.push_back(fmt::format("\"{}\"", node.facts.node));
  }
  return text +
         fmt::format("  to leave them out: [slurm] exclude = [{}]\n", fmt::join(names, ", "));
}

std::string cost(const ReportInput& report, Colour colour) {
  const Plan& plan = report.view.plan;
  std::string text = heading("Cost", colour);
  text += fmt::format("  {} experiments, {}", report.result.experiments_run,
                      format_node_hours(report.result.spent_node_seconds));
  if (plan.budget_node_seconds) {
    text += fmt::format(" of a budget of {}", format_node_hours(*plan.budget_node_seconds));
  }
  text += fmt::format("; planned were {} at worst\n", format_node_hours(plan.worst_node_seconds));
  if (plan.grid_size > 0) {
    text += fmt::format("  the whole space has {} configurations{}\n", plan.grid_size,
                        beyond_the_space(plan));
  }
  return text;
}

std::string spaces(const Findings& findings, Colour colour) {
  Table table({{"space", Align::left},
               {"experiments", Align::right},
               {"failed", Align::right},
               {findings.unit.empty() ? "objective" : findings.unit, Align::right},
               {"best of it", Align::left}});
  for (const SpaceFinding& space : findings.spaces) {
    table.add({space.name, fmt::to_string(space.experiments), fmt::to_string(space.failed),
               objective_cell(space.objective), space.best.empty() ? "-" : space.best});
  }
  if (table.empty()) return "";
  return heading("By tuning space", colour) + table.render(colour);
}

}  // namespace

std::string report_body(const ReportInput& report, Colour colour) {
  const StudyView& view = report.view;
  const Findings findings = findings_of(report.input, view);
  const auto& finished = view.state.finished;
  std::string text =
      paint("Report of " + one_line(view.plan.study_name), Paint::bold, colour) + "\n";
  text += fmt::format("  study          {}\n  in             {}\n", view.plan.study.text,
                      report.directory.root().string());
  text += fmt::format("  state          {}\n",
                      finished ? fmt::format("finished ({})", name_of(finished->stop))
                               : paint("under way: this is how it stands", Paint::yellow, colour));
  if (report.result.best) {
    text += fmt::format("  in short       {}\n", one_line(report.result.why, 600));
  }
  text += winner(report, colour);
  text += baseline(report, colour);
  text += ranking(report, findings, colour);
  text += spaces(findings, colour);
  text += conclusions(report, findings, colour);
  text += dropped(findings, colour);
  text += failures(report, colour);
  text += slow_nodes(findings, colour);
  return text + cost(report, colour);
}

std::string report_text(const ReportInput& report, Colour colour) {
  std::string text = report_body(report, colour);
  const std::string training = training_in_words(report.view, report.directory.root().string());
  if (!training.empty()) text += heading("Training", colour) + "  " + training + "\n";
  const auto files = written_files(report.directory);
  if (!files.empty()) {
    text += heading("Files", colour);
    for (const std::string& file : files) text += "  " + file + "\n";
  }
  return text;
}

}  // namespace slurmtune
