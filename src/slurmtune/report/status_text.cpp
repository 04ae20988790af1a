// SPDX-License-Identifier: MIT
#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "slurmtune/base/units.hpp"
#include "slurmtune/report/progress.hpp"
#include "slurmtune/report/table.hpp"
#include "slurmtune/report/text.hpp"
#include "slurmtune/report/training_words.hpp"

namespace slurmtune {

namespace {

using Align = Table::Align;

const JobRecord* record_of(const StudyView& view, std::int64_t number) {
  for (const JobRecord& job : view.state.jobs) {
    if (job.job == number) return &job;
  }
  return nullptr;
}

std::string name_of_job(const StudyView& view, const JobReport& report) {
  const JobRecord* job = record_of(view, report.job.number);
  return job == nullptr ? one_line(report.name) : job->name;
}

std::string number_of(const JobReport& report) {
  return report.task ? fmt::format("{}_{}", report.job.number, *report.task)
                     : fmt::to_string(report.job.number);
}

/// The stage that is being worked on, if the study goes on.
const StageProgress* current_of(const StudyView& view, const std::vector<StageProgress>& stages) {
  const std::size_t current = current_stage(view);
  return current < stages.size() ? &stages[current] : nullptr;
}

/// Why a job of this stage does not run yet, in the batch system's word.
std::string queue_reason(const StatusInput& status, const StageName& stage) {
  for (const JobReport& report : status.jobs) {
    const JobRecord* job = record_of(status.view, report.job.number);
    if (job == nullptr || job->stage != stage || report.state != JobState::pending) continue;
    return fmt::format("job {} is pending ({})", report.job.number,
                       report.reason.empty() ? "no reason given" : one_line(report.reason));
  }
  return "";
}

std::string how_to_go_on(const StatusInput& status) {
  return "slurmtune resume " + status.directory.root().string();
}

/// What has to happen next, and what to do if it does not.
std::string waits_for(const StatusInput& status, const std::vector<StageProgress>& stages) {
  const StudyView& view = status.view;
  if (view.state.finished) return "";
  if (const JobRecord* intent = view.state.open_intent()) {
    return fmt::format("{} is being submitted by {}", intent->name, intent->by);
  }
  const StageProgress* stage = current_of(view, stages);
  if (stage == nullptr) return "the end of the study: " + how_to_go_on(status);
  const bool any_live = std::any_of(status.jobs.begin(), status.jobs.end(),
                                    [](const JobReport& job) { return !is_over(job.state); });
  const bool is_local = view.state.starter() == JobStarter::foreground;
  if (!any_live && view.state.created.submit == "scripts" && view.state.jobs.empty()) {
    return "its job scripts, which are to be submitted by hand";
  }
  for (const JobRecord& job : view.state.jobs) {
    if (job.kind != JobKind::whole || !job.job) continue;
    return fmt::format("job {}, which runs all of it (squeue --jobs={}); if it is gone: {}",
                       *job.job, *job.job, how_to_go_on(status));
  }
  if (!any_live) {
    const std::string what = is_local
                                 ? "the slurmtune that runs it; if none does"
                                 : "a job, and the batch system tells of none; if none is left";
    return fmt::format("{}: {}", what, how_to_go_on(status));
  }
  if (stage->done == stage->experiments && stage->experiments > 0) {
    return "the reducer of " + stage->name.text;
  }
  const std::string reason = queue_reason(status, stage->name);
  if (stage->running > 0 || reason.empty()) {
    return fmt::format("{} experiments of {}", stage->experiments - stage->done, stage->name.text);
  }
  return fmt::format("{} in the queue: {}", stage->name.text, reason);
}

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

std::string jobs_table(const StatusInput& status, Colour colour) {
  Table table({{"job", Align::right},
               {"name", Align::left},
               {"state", Align::left},
               {"reason", Align::left},
               {"nodes", Align::left}});
  for (const JobReport& report : status.jobs) {
    if (is_over(report.state)) continue;
    table.add({number_of(report), name_of_job(status.view, report),
               std::string(name_of(report.state)), one_line(report.reason),
               one_line(report.nodes)});
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

std::string spent_in_words(const StudyView& view) {
  const std::int64_t used = used_node_seconds(view);
  const std::int64_t charged = spent_node_seconds(view);
  std::string text = format_node_hours(used);
  if (charged != used) {
    text += fmt::format(", tasks that go on charged to their limit {}", format_node_hours(charged));
  }
  if (view.plan.budget_node_seconds) {
    text += fmt::format(", of a budget of {}", format_node_hours(*view.plan.budget_node_seconds));
  }
  return text;
}

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
  text += fmt::format("  spent     {}\n", spent_in_words(view));
  if (view.state.created.deadline) {
    text += fmt::format("  ends by   {}\n", format_instant(*view.state.created.deadline));
  }
  const std::string training = training_in_words(view, status.directory.root().string());
  if (!training.empty()) text += fmt::format("  training  {}\n", training);
  const std::string waits = waits_for(status, stages);
  if (!waits.empty()) text += fmt::format("  waits for {}\n", waits);
  if (view.state.finished) {
    text += fmt::format("  result    slurmtune report {}\n", status.directory.root().string());
  }
  text += "\n" + stages_table(stages, colour);
  const std::string jobs = jobs_table(status, colour);
  if (!jobs.empty()) text += "\n" + jobs;
  return text;
}

Json status_json(const StatusInput& status) {
  const StudyView& view = status.view;
  const auto stages = progress_of(view);
  Json json{{"format", "slurmtune.status"},
            {"version", 1},
            {"study", view.plan.study.text},
            {"name", view.plan.study_name},
            {"directory", status.directory.root().string()},
            {"finished", view.state.finished.has_value()},
            {"cancelled", view.state.cancelled},
            {"used_node_seconds", used_node_seconds(view)},
            {"spent_node_seconds", spent_node_seconds(view)},
            {"waits_for", waits_for(status, stages)}};
  json["stop"] = view.state.finished ? Json(name_of(view.state.finished->stop)) : Json(nullptr);
  json["budget_node_seconds"] =
      view.plan.budget_node_seconds ? Json(*view.plan.budget_node_seconds) : Json(nullptr);
  json["training"] = training_json(view);
  json["best"] = best_json(status.input, view);
  json["stages"] = Json::array();
  for (const StageProgress& stage : stages) json["stages"].push_back(to_json(stage));
  json["jobs"] = Json::array();
  for (const JobReport& report : status.jobs) {
    Json job{{"job", report.job.number},
             {"name", name_of_job(view, report)},
             {"state", name_of(report.state)},
             {"reason", report.reason},
             {"nodes", report.nodes}};
    job["task"] = report.task ? Json(*report.task) : Json(nullptr);
    json["jobs"].push_back(std::move(job));
  }
  return json;
}

std::string progress_line(const StudyInput& input, const StudyView& view) {
  const auto stages = progress_of(view);
  std::string line;
  if (view.state.finished) {
    line = fmt::format("finished ({})", name_of(view.state.finished->stop));
  } else if (const StageProgress* stage = current_of(view, stages); stage == nullptr) {
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
