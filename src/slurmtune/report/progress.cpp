// SPDX-License-Identifier: MIT
#include "slurmtune/report/progress.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/generate/label.hpp"
#include "slurmtune/model/history.hpp"
#include "slurmtune/model/objective.hpp"
#include "slurmtune/study/task_time.hpp"

namespace slurmtune {

namespace {

/// The newest shard of every slice: a requeued task has more than one.
std::map<std::int64_t, const Shard*> newest_shards(const StageView& stage) {
  std::map<std::int64_t, const Shard*> newest;
  for (const Shard& shard : stage.shards) {
    const Shard*& there = newest[shard.start.slice];
    if (there == nullptr || there->start.at <= shard.start.at) there = &shard;
  }
  return newest;
}

/// How an experiment ended, as reducers believe it; nothing where it did not, or where a task that
/// was started again, or one in the next window, is about to run it.
std::optional<Outcome> outcome_of(const History& history, const Experiment& experiment,
                                  bool goes_on) {
  const Trial* trial = history.find(experiment.id);
  if (trial == nullptr || !trial->verdict) return std::nullopt;
  const Outcome outcome = trial->verdict->outcome;
  if (goes_on && rule_of(outcome).retry == Retry::while_budget_lasts) return std::nullopt;
  return outcome;
}

/// Whether what a stage has left may still be run.
enum class Rest { to_come, left_out };

void count_experiments(const StageView& stage, Rest rest, StageProgress& progress) {
  const Manifest& manifest = *stage.manifest;
  History history;
  std::vector<Verdict> verdicts;
  for (const Shard& shard : stage.shards) {
    verdicts.insert(verdicts.end(), shard.verdicts.begin(), shard.verdicts.end());
  }
  history.add(manifest, verdicts);
  const auto newest = newest_shards(stage);
  progress.experiments = static_cast<std::int64_t>(manifest.experiments.size());
  for (std::size_t number = 0; number < manifest.slices.size(); ++number) {
    const auto shard = newest.find(static_cast<std::int64_t>(number));
    const bool is_open = shard != newest.end() && !shard->second->end;
    const bool waits_for_window =
        rest == Rest::to_come && shard != newest.end() && ended_by_window(*shard->second);
    const Slice& slice = manifest.slices[number];
    std::int64_t left = 0;
    for (std::int64_t k = slice.first; k < slice.end; ++k) {
      const auto& experiment = manifest.experiments[static_cast<std::size_t>(k)];
      if (const auto outcome = outcome_of(history, experiment, is_open || waits_for_window)) {
        ++progress.done;
        ++progress.outcomes[*outcome];
      } else {
        ++left;
      }
    }
    if (is_open) progress.running += std::min<std::int64_t>(manifest.lanes, left);
  }
  progress.waiting = progress.experiments - progress.done - progress.running;
}

StageProgressState state_of(const StudyView& view, std::size_t index, const StageProgress& counts) {
  const StageView& stage = view.stages[index];
  if (stage.decision) return StageProgressState::done;
  if (!stage.manifest) {
    const bool passed = view.state.finished || index < current_stage(view);
    return passed ? StageProgressState::skipped : StageProgressState::waiting;
  }
  if (counts.done == counts.experiments) return StageProgressState::ended;
  if (view.state.finished) return StageProgressState::ended;
  if (stage.shards.empty()) return StageProgressState::queued;
  const bool waits_for_window = counts.running == 0 && is_cut_by_window(stage);
  return waits_for_window ? StageProgressState::queued : StageProgressState::running;
}

/// Calls `visit` with every verdict and its experiment, stage after stage.
template <class Visit>
void for_each_verdict(const StudyView& view, const Visit& visit) {
  for (const StageView& stage : view.stages) {
    if (!stage.manifest) continue;
    std::map<ExperimentId, const Experiment*> experiments;
    for (const Experiment& experiment : stage.manifest->experiments) {
      experiments[experiment.id] = &experiment;
    }
    for (const Shard& shard : stage.shards) {
      for (const Verdict& verdict : shard.verdicts) {
        const auto found = experiments.find(verdict.experiment);
        if (found != experiments.end()) visit(verdict, *found->second);
      }
    }
  }
}

}  // namespace

std::string_view name_of(StageProgressState state) {
  switch (state) {
    case StageProgressState::waiting: return "waiting";
    case StageProgressState::queued: return "queued";
    case StageProgressState::running: return "running";
    case StageProgressState::ended: return "ended";
    case StageProgressState::done: return "done";
    case StageProgressState::skipped: break;
  }
  return "skipped";
}

std::vector<StageProgress> progress_of(const StudyView& view) {
  std::vector<StageProgress> all;
  for (std::size_t i = 0; i < view.stages.size() && i < view.plan.stages.size(); ++i) {
    StageProgress progress;
    progress.name = view.plan.stages[i].name;
    const bool concluded = view.stages[i].decision || view.state.finished;
    if (view.stages[i].manifest) {
      count_experiments(view.stages[i], concluded ? Rest::left_out : Rest::to_come, progress);
    }
    progress.state = state_of(view, i, progress);
    const bool over = progress.state == StageProgressState::done || view.state.finished;
    if (over) progress.waiting += std::exchange(progress.running, 0);
    all.push_back(std::move(progress));
  }
  return all;
}

std::optional<Leader> leader_of(const StudyInput& input, const StudyView& view) {
  const auto objective = Objective::compile(input);
  if (!objective) return std::nullopt;  // the study would not have begun
  std::optional<Leader> leader;
  for (const StageView& stage : view.stages) {
    if (!stage.decision || !stage.decision->best) continue;
    leader.emplace();
    leader->configuration = stage.decision->best->configuration;
    leader->objective = stage.decision->best->throughput;
    leader->decided = true;
  }
  const bool decided = leader.has_value();
  double best = 0.0;
  for_each_verdict(view, [&](const Verdict& verdict, const Experiment& experiment) {
    if (decided) {
      if (verdict.configuration != leader->configuration) return;
      leader->label = label_of(experiment.configuration);
      // The last stage that measured it did so at most length.
      if (verdict.metrics.throughput) leader->throughput = verdict.metrics.throughput;
      return;
    }
    Trial trial;
    trial.experiment = experiment;
    trial.verdict = verdict;
    const auto score = objective->score(trial);
    if (!score || (leader && score->mid <= best)) return;
    best = score->mid;
    leader.emplace();
    leader->configuration = verdict.configuration;
    leader->label = label_of(experiment.configuration);
    leader->throughput = verdict.metrics.throughput;
    leader->objective = objective->readable(*score);
  });
  if (!leader) return leader;
  if (objective->is_throughput()) leader->throughput = leader->objective;
  if (leader->label.empty()) leader->label = leader->configuration.text;
  leader->value = objective->in_words(leader->objective.mid);
  const char* ahead = objective->follows_step_time() ? "fastest" : "best so far";
  leader->rank = leader->decided ? "best" : ahead;
  return leader;
}

std::string in_words(const Leader& leader) {
  return fmt::format("{} {}", leader.label, leader.value);
}

std::optional<LastVerdict> last_verdict(const StudyView& view) {
  std::optional<LastVerdict> last;
  Instant at{};
  for_each_verdict(view, [&](const Verdict& verdict, const Experiment& experiment) {
    if (last && verdict.ended < at) return;
    last = LastVerdict{experiment.label, verdict.outcome};
    at = verdict.ended;
  });
  return last;
}

std::int64_t used_node_seconds(const StudyView& view) {
  std::int64_t used = 0;
  for (const StageView& stage : view.stages) {
    for (const Shard& shard : stage.shards) {
      if (shard.end) {
        used += shard.end->node_seconds;
        continue;
      }
      Instant alive = shard.start.at;
      if (shard.last_heartbeat) alive = std::max(alive, shard.last_heartbeat->at);
      for (const Verdict& verdict : shard.verdicts) alive = std::max(alive, verdict.ended);
      const auto seconds = std::chrono::ceil<std::chrono::seconds>(alive - shard.start.at);
      used += seconds.count() * shard.start.allocated_nodes;
    }
  }
  return used;
}

std::string in_words(const std::map<Outcome, std::int64_t>& outcomes) {
  std::string words;
  for (const auto& [outcome, count] : outcomes) {
    words += fmt::format("{}{} {}", words.empty() ? "" : ", ", count, name_of(outcome));
  }
  return words;
}

}  // namespace slurmtune
