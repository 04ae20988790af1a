// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <tuple>

#include <fmt/format.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/report/budgets.hpp"
#include "slurmtune/report/expected_end.hpp"
#include "slurmtune/report/progress.hpp"
#include "slurmtune/report/status_waits.hpp"
#include "slurmtune/report/table.hpp"
#include "slurmtune/report/text.hpp"
#include "slurmtune/report/training_words.hpp"

namespace slurmtune {

namespace {

using Align = Table::Align;

/// Tasks of one job that are in the same state for the same reason: a row of the table.
struct JobGroup {
  const JobReport* first = nullptr;
  std::int64_t tasks = 0;  ///< that are told one by one
  std::set<std::string> nodes;
};

std::string stages_table(const std::vector<StageProgress>& stages, Colour colour) {
  Table table({{"stage", Align::left},
               {"state", Align::left},
               {"done", Align::right},
               {"running", Align::right},
               {"waiting", Align::right},
               {"outcomes", Align::left}});
  for (const StageProgress& stage : stages) {
    const bool has_manifest = stage.experiments > 0;
    const auto count = [&](std::int64_t value) {
      return has_manifest ? fmt::to_string(value) : std::string("-");
    };
    const bool is_current = stage.state == StageProgressState::running ||
                            stage.state == StageProgressState::queued ||
                            stage.state == StageProgressState::ended;
    table.add({stage.name.text, std::string(name_of(stage.state)),
               has_manifest ? fmt::format("{}/{}", stage.done, stage.experiments) : "-",
               count(stage.running), count(stage.waiting), in_words(stage.outcomes)},
              is_current ? Paint::bold : Paint::plain);
  }
  return table.render(colour);
}

/// `n1,n2`, or how many there are.
std::string nodes_in_words(const std::set<std::string>& nodes) {
  constexpr std::size_t named_max = 4;
  if (nodes.size() > named_max) return fmt::format("{} different", nodes.size());
  return one_line(fmt::format("{}", fmt::join(nodes, ",")));
}

std::string jobs_table(const StatusInput& status, Colour colour) {
  std::map<std::tuple<std::int64_t, JobState, std::string>, JobGroup> groups;
  for (const JobReport& report : status.jobs) {
    if (is_over(report.state)) continue;
    JobGroup& group = groups[{report.job.number, report.state, report.reason}];
    if (group.first == nullptr) group.first = &report;
    if (report.task) ++group.tasks;
    if (!report.nodes.empty()) group.nodes.insert(report.nodes);
  }
  Table table({{"job", Align::right},
               {"name", Align::left},
               {"state", Align::left},
               {"reason", Align::left},
               {"nodes", Align::left}});
  const JobsByNumber records = jobs_by_number(status.view);
  for (const auto& [key, group] : groups) {
    const auto& [number, state, reason] = key;
    const auto record = records.find(number);
    std::string words(name_of(state));
    if (group.tasks > 0) words = fmt::format("{} {}", group.tasks, words);
    table.add({fmt::to_string(number),
               record == records.end() ? one_line(group.first->name) : record->second->name, words,
               reason == "None" ? "" : one_line(reason), nodes_in_words(group.nodes)});
  }
  return table.render(colour);
}

std::string headline(const StudyView& view, Colour colour) {
  if (!view.state.finished) {
    return view.state.cancelled ? paint("being cancelled", Paint::yellow, colour)
                                : std::string("under way");
  }
  const Finished& finished = *view.state.finished;
  return paint(fmt::format("finished ({})", name_of(finished.stop)),
               finished.best ? Paint::green : Paint::red, colour);
}

/// A line a budget; what tasks that go on may yet use is charged already.
std::string budgets_text(const StatusInput& status) {
  const StudyView& view = status.view;
  std::string text;
  for (const BudgetLine& line : budget_lines(status.input, view)) {
    text += fmt::format("  {:<9} {} {}", text.empty() ? "spent" : "", line.name, in_words(line));
    const std::int64_t used = used_node_seconds(view);
    if (text.find('\n') == std::string::npos && used != spent_node_seconds(view)) {
      text += fmt::format(" ({} used; tasks that {} are charged to their limit)", node_hours(used),
                          view.state.finished ? "left no word of their end" : "go on");
    }
    text += '\n';
  }
  return text;
}

std::string deadline_in_words(const StatusInput& status) {
  const Instant deadline = *status.view.state.deadline;
  const std::string at = format_instant(deadline);
  if (status.view.state.finished) return at;
  if (deadline <= status.now) return at + ", which is past";
  return fmt::format("{}, in {}", at, format_duration(deadline - status.now));
}

}  // namespace

std::string status_text(const StatusInput& status, Colour colour) {
  const StudyView& view = status.view;
  const auto stages = progress_of(view);
  std::string text =
      fmt::format("{}  {}\n", paint(one_line(view.plan.study_name), Paint::bold, colour),
                  headline(view, colour));
  text += fmt::format("  study     {}\n  in        {}\n", view.plan.study.text,
                      status.directory.root().string());
  if (const auto leader = leader_of(status.input, view);
      leader && !(view.state.finished && !view.state.finished->best)) {
    text +=
        fmt::format("  {:<9} {}\n", leader->rank, paint(in_words(*leader), Paint::green, colour));
  }
  text += budgets_text(status);
  if (view.state.deadline) {
    text += fmt::format("  ends by   {}\n", deadline_in_words(status));
  }
  if (const auto end = expected_end(view, status.jobs, status.now)) {
    text += fmt::format("  expected  {}\n", in_words(*end, status.now));
  }
  const std::string training = training_in_words(view, status.directory.root().string());
  if (!training.empty()) text += fmt::format("  training  {}\n", training);
  const std::string waits = waits_for(status, stages);
  if (!waits.empty()) text += fmt::format("  waits for {}\n", waits);
  if (!status.queue_error.empty()) {
    text += fmt::format("  queue     {}\n", paint("not known: " + one_line(status.queue_error, 400),
                                                  Paint::yellow, colour));
  }
  if (view.state.finished) {
    text += fmt::format("  result    slurmtune report {}\n", status.directory.root().string());
  }
  text += "\n" + stages_table(stages, colour);
  const std::string jobs = jobs_table(status, colour);
  if (!jobs.empty()) text += "\n" + jobs;
  return text;
}

std::string progress_line(const StudyInput& input, const StudyView& view) {
  const auto stages = progress_of(view);
  std::string line;
  if (view.state.finished) {
    line = fmt::format("finished ({})", name_of(view.state.finished->stop));
  } else if (const StageProgress* stage = stage_at_work(view, stages); stage == nullptr) {
    line = "concluding";
  } else if (stage->experiments == 0) {
    line = stage->name.text + " waiting";
  } else {
    line = fmt::format("{} {}/{} done", stage->name.text, stage->done, stage->experiments);
  }
  if (const auto last = last_verdict(view)) {
    line += fmt::format(", last {} {}", last->label, name_of(last->outcome));
  }
  if (const auto leader = leader_of(input, view)) {
    line += fmt::format(", {} {}", leader->rank, in_words(*leader));
  }
  return line + ", " + format_node_hours(used_node_seconds(view));
}

}  // namespace slurmtune
