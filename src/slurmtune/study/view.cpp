// SPDX-License-Identifier: MIT
#include "slurmtune/study/view.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace slurmtune {

namespace {

StageHistory history_of_stage(const StageView& stage) {
  StageHistory entry{*stage.manifest, {}};
  for (const Shard& shard : stage.shards) {
    entry.verdicts.insert(entry.verdicts.end(), shard.verdicts.begin(), shard.verdicts.end());
  }
  return entry;
}

Verdict lost_with_its_task(const StageView& stage, std::int64_t slice,
                           const Experiment& experiment) {
  const auto of_slice = [&](const Shard& shard) { return shard.start.slice == slice; };
  const auto last = std::find_if(stage.shards.rbegin(), stage.shards.rend(), of_slice);
  std::string_view what = "never began";
  if (last != stage.shards.rend()) what = last->end ? "ended before it" : "the runner died";
  Verdict verdict;
  verdict.experiment = experiment.id;
  verdict.configuration = experiment.configuration_id;
  verdict.attempt = experiment.attempt;
  verdict.outcome = Outcome::not_started;
  verdict.reason = lost_task;
  // The number of the slice, not of a job: decisions hold none.
  verdict.evidence.emplace().line = fmt::format("task {}: {}", slice, what);
  return verdict;
}

}  // namespace

std::size_t current_stage(const StudyView& view) {
  std::size_t current = 0;
  // A decision names the next stage; those between were skipped. Each step goes forward, so that
  // the loop is bounded by the number of stages.
  while (current < view.stages.size() && view.stages[current].decision) {
    const Next& next = view.stages[current].decision->next;
    if (next.action == NextAction::finish) return view.stages.size();
    const auto index = view.plan.index_of(next.stage);
    if (!index || *index <= current) return view.stages.size();
    current = *index;
  }
  return current;
}

std::vector<std::int64_t> open_slices(const StageView& stage) {
  std::vector<std::int64_t> open;
  if (!stage.manifest) return open;
  std::set<std::pair<ExperimentId, int>> judged;
  std::set<std::int64_t> ended;
  for (const Shard& shard : stage.shards) {
    for (const Verdict& verdict : shard.verdicts) {
      judged.insert({verdict.experiment, verdict.attempt});
    }
    if (shard.end && shard.end->reason == "done") ended.insert(shard.start.slice);
  }
  const auto& slices = stage.manifest->slices;
  for (std::size_t i = 0; i < slices.size(); ++i) {
    const auto number = static_cast<std::int64_t>(i);
    if (ended.contains(number)) continue;
    const auto first = stage.manifest->experiments.begin() + slices[i].first;
    const auto end = stage.manifest->experiments.begin() + slices[i].end;
    const bool all_judged = std::all_of(first, end, [&](const Experiment& experiment) {
      return judged.contains({experiment.id, experiment.attempt});
    });
    if (!all_judged) open.push_back(number);
  }
  return open;
}

std::vector<StageHistory> history_of(const StudyView& view, std::size_t last) {
  std::vector<StageHistory> history;
  for (std::size_t i = 0; i <= last && i < view.stages.size(); ++i) {
    const StageView& stage = view.stages[i];
    if (!stage.manifest) continue;
    history.push_back(history_of_stage(stage));
  }
  return history;
}

std::vector<StageHistory> history_with_losses(const StudyView& view, std::size_t last) {
  std::vector<StageHistory> history;
  for (std::size_t i = 0; i <= last && i < view.stages.size(); ++i) {
    const StageView& stage = view.stages[i];
    if (!stage.manifest) continue;
    StageHistory& entry = history.emplace_back(history_of_stage(stage));
    std::set<std::pair<ExperimentId, int>> judged;
    for (const Verdict& verdict : entry.verdicts) {
      judged.insert({verdict.experiment, verdict.attempt});
    }
    for (const std::int64_t slice : open_slices(stage)) {
      const auto& [first, end] = stage.manifest->slices[static_cast<std::size_t>(slice)];
      for (std::int64_t k = first; k < end; ++k) {
        const Experiment& experiment = stage.manifest->experiments[static_cast<std::size_t>(k)];
        if (judged.contains({experiment.id, experiment.attempt})) continue;
        entry.verdicts.push_back(lost_with_its_task(stage, slice, experiment));
      }
    }
  }
  return history;
}

std::int64_t spent_node_seconds(const StudyView& view) {
  std::int64_t spent = 0;
  for (const StageView& stage : view.stages) {
    for (const Shard& shard : stage.shards) {
      if (shard.end) {
        spent += shard.end->node_seconds;
      } else if (stage.manifest) {
        spent += stage.manifest->task_walltime_s * shard.start.allocated_nodes;
      }
    }
  }
  return spent;
}

}  // namespace slurmtune
