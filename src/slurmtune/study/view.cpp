// SPDX-License-Identifier: MIT
#include "slurmtune/study/view.hpp"

#include <algorithm>

namespace slurmtune {

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
    StageHistory entry{*stage.manifest, {}};
    for (const Shard& shard : stage.shards) {
      entry.verdicts.insert(entry.verdicts.end(), shard.verdicts.begin(), shard.verdicts.end());
    }
    history.push_back(std::move(entry));
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
