// SPDX-License-Identifier: MIT
#include "slurmtune/study/node_faults.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include <fmt/core.h>

#include "slurmtune/study/endings.hpp"
#include "slurmtune/study/node_list.hpp"

namespace slurmtune {

namespace {

/// How many faults make a node one that is left out.
constexpr std::size_t faults_max = 2;

/// Something that went wrong, and who may be to blame.
struct Fault {
  std::vector<std::string> nodes;
  Instant at;
  std::string what;
};

std::vector<std::string> blamed(const Verdict& verdict, const Shard& shard) {
  if (verdict.evidence && !verdict.evidence->node.empty()) return {verdict.evidence->node};
  return verdict.nodes.empty() ? shard.start.nodes : verdict.nodes;
}

const Shard* shard_of(const StageView& stage, std::int64_t job, std::int64_t task) {
  const auto found = std::find_if(stage.shards.rbegin(), stage.shards.rend(), [&](const Shard& s) {
    return s.start.array_job == job && s.start.task == task;
  });
  return found == stage.shards.rend() ? nullptr : &*found;
}

bool tells_node_failure(const Shard& shard) {
  return std::any_of(shard.verdicts.begin(), shard.verdicts.end(), [](const Verdict& verdict) {
    return verdict.outcome == Outcome::node_failure;
  });
}

void add_faults_of_trials(const StageView& stage, const std::string& name,
                          std::vector<Fault>& faults) {
  for (const Shard& shard : stage.shards) {
    for (const Verdict& verdict : shard.verdicts) {
      if (verdict.outcome != Outcome::node_failure) continue;
      faults.push_back({blamed(verdict, shard), verdict.ended, name + ": node_failure"});
    }
  }
}

void add_faults_of_tasks(const StudyView& view, const StageView& stage, const StageName& name,
                         std::vector<Fault>& faults) {
  for (const JobRecord* job : view.state.jobs_of(name, JobKind::array)) {
    const auto& ended = view.state.ended_tasks;
    for (auto at = ended.lower_bound({*job->job, 0});
         at != ended.end() && at->first.first == *job->job; ++at) {
      const EndedTask& task = at->second;
      if (rule_of(task.ending).remedy != Remedy::elsewhere) continue;
      const Shard* shard = shard_of(stage, *job->job, task.task);
      // The trial under which the node died has told of it already.
      if (shard != nullptr && tells_node_failure(*shard)) continue;
      const bool knows = shard != nullptr && !shard->start.nodes.empty();
      faults.push_back({knows ? shard->start.nodes : expand_nodes(task.nodes),
                        shard != nullptr ? shard->start.at : Instant{},
                        fmt::format("{}: {}", name.text, rule_of(task.ending).name)});
    }
  }
}

/// Where trials ran or could not be started; only those on one node tell which.
struct Launches {
  std::map<std::string, std::vector<Fault>> failed;  ///< by node
  std::set<std::string> worked;                      ///< nodes of trials that were started
};

void add_launches(const StageView& stage, const std::string& name, Launches& launches) {
  for (const Shard& shard : stage.shards) {
    for (const Verdict& verdict : shard.verdicts) {
      if (verdict.outcome == Outcome::launch_error) {
        const std::vector<std::string> nodes = blamed(verdict, shard);
        if (nodes.size() != 1) continue;
        launches.failed[nodes.front()].push_back({nodes, verdict.ended, name + ": launch_error"});
      } else if (rule_of(verdict.outcome).counts_as_tried) {
        launches.worked.insert(verdict.nodes.begin(), verdict.nodes.end());
      }
    }
  }
}

/// True if something was measured on the node after that.
bool worked_after(const StudyView& view, const std::string& node, Instant at) {
  for (const StageView& stage : view.stages) {
    for (const Shard& shard : stage.shards) {
      for (const Verdict& verdict : shard.verdicts) {
        if (verdict.outcome != Outcome::ok || verdict.started <= at) continue;
        const auto& on = verdict.nodes;
        if (std::find(on.begin(), on.end(), node) != on.end()) return true;
      }
    }
  }
  return false;
}

std::int64_t nodes_seen(const StudyView& view) {
  std::set<std::string> seen;
  for (const StageView& stage : view.stages) {
    for (const Shard& shard : stage.shards) {
      seen.insert(shard.start.nodes.begin(), shard.start.nodes.end());
    }
  }
  return static_cast<std::int64_t>(seen.size());
}

}  // namespace

std::vector<FaultyNode> faulty_nodes(const StudyView& view) {
  std::vector<Fault> faults;
  Launches launches;
  for (std::size_t i = 0; i < view.stages.size(); ++i) {
    const StageName& name = view.plan.stages[i].name;
    add_faults_of_trials(view.stages[i], name.text, faults);
    add_faults_of_tasks(view, view.stages[i], name, faults);
    add_launches(view.stages[i], name.text, launches);
  }
  for (auto& [node, failed] : launches.failed) {
    // Where it works nowhere, it is not the node's fault.
    if (launches.worked.empty() || launches.worked.contains(node)) continue;
    faults.insert(faults.end(), failed.begin(), failed.end());
  }
  std::map<std::string, std::vector<std::string>> by_node;
  for (const Fault& fault : faults) {
    for (const std::string& node : fault.nodes) {
      if (fault.nodes.size() > 1 && worked_after(view, node, fault.at)) continue;
      by_node[node].push_back(fault.what);
    }
  }
  std::vector<FaultyNode> found;
  for (auto& [node, what] : by_node) {
    if (what.size() >= faults_max) found.push_back({node, std::move(what)});
  }
  std::stable_sort(found.begin(), found.end(), [](const FaultyNode& a, const FaultyNode& b) {
    return a.faults.size() > b.faults.size();
  });
  return found;
}

std::vector<FaultyNode> nodes_to_exclude(const StudyView& view) {
  std::vector<FaultyNode> found = faulty_nodes(view);
  std::erase_if(found, [&](const FaultyNode& faulty) {
    return view.state.excluded_nodes.contains(faulty.node);
  });
  std::int64_t needed = 1;
  for (const PlannedStage& stage : view.plan.stages) {
    needed = std::max<std::int64_t>(needed, stage.nodes_per_task);
  }
  if (view.plan.launch) needed = std::max<std::int64_t>(needed, view.plan.launch->nodes);
  const auto excluded = static_cast<std::int64_t>(view.state.excluded_nodes.size());
  const std::int64_t spare = view.nodes_there.value_or(nodes_seen(view)) - excluded - needed;
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(0, spare));
  if (found.size() > most) found.resize(most);
  return found;
}

}  // namespace slurmtune
