// SPDX-License-Identifier: MIT
#include "slurmtune/report/findings.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/analyze/analysis.hpp"
#include "slurmtune/generate/label.hpp"
#include "slurmtune/model/objective.hpp"
#include "slurmtune/model/slow_nodes.hpp"
#include "slurmtune/space/stage_template.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace {

std::string space_of(const StudySpec& spec, const Configuration& configuration) {
  if (!spec.deepspeed) return "all";
  const auto stage = configuration.integer(zero_stage_parameter);
  const bool has_knobs = std::any_of(configuration.values.begin(), configuration.values.end(),
                                     [](const auto& entry) { return is_knob_name(entry.first); });
  return fmt::format("z{}{}", stage.value_or(spec.deepspeed->zero_stage),
                     has_knobs ? "_knobs" : "");
}

std::vector<SpaceFinding> spaces_of(const StudySpec& spec, const Analysis& analysis) {
  std::map<std::string, SpaceFinding> spaces;
  if (spec.deepspeed) {
    for (const int stage : spec.deepspeed->zero_stages) spaces[fmt::format("z{}", stage)];
  }
  for (const Trial& trial : analysis.history().trials()) {
    if (!trial.verdict) continue;
    SpaceFinding& space = spaces[space_of(spec, trial.experiment.configuration)];
    ++space.experiments;
    if (!trial.worked()) ++space.failed;
  }
  for (const Estimate& estimate : analysis.estimates()) {  // best first
    SpaceFinding& space = spaces[space_of(spec, estimate.configuration)];
    if (!space.best.empty()) continue;
    space.best = label_of(estimate.configuration);
    space.objective = analysis.objective().readable(estimate.score);
  }
  std::vector<SpaceFinding> found;
  for (auto& [name, space] : spaces) {
    space.name = name;
    found.push_back(std::move(space));
  }
  return found;
}

void add_once(std::vector<Dropped>& all, const std::vector<Dropped>& more) {
  for (const Dropped& dropped : more) {
    const auto same = std::find_if(
        all.begin(), all.end(), [&](const Dropped& there) { return there.what == dropped.what; });
    if (same == all.end()) {
      all.push_back(dropped);
    } else {
      same->because = dropped.because;  // what was said last is known best
    }
  }
}

/// A task compares its own nodes only, and may have too few of them.
std::vector<NodeRecord> slow_nodes_of(const StudyView& view) {
  std::map<std::string, NodeRecord> latest;
  for (const StageView& stage : view.stages) {
    for (const Shard& shard : stage.shards) {
      for (const NodeRecord& node : shard.nodes) latest[node.facts.node] = node;
    }
  }
  std::vector<NodeRecord> nodes;
  for (auto& [name, node] : latest) nodes.push_back(std::move(node));
  judge_nodes(nodes);
  std::erase_if(nodes, [](const NodeRecord& node) { return node.slow.empty(); });
  return nodes;
}

}  // namespace

Findings findings_of(const StudyInput& input, const StudyView& view) {
  Findings findings;
  const Decision* last = nullptr;
  findings.dropped = view.plan.pruned;
  findings.slow_nodes = slow_nodes_of(view);
  for (const StageView& stage : view.stages) {
    if (!stage.decision) continue;
    last = &*stage.decision;
    add_once(findings.dropped, last->dropped);
  }
  const std::size_t all = view.stages.empty() ? 0 : view.stages.size() - 1;
  const auto history = history_of(view, all);
  const auto analysis = Analysis::of(input, history);
  if (!analysis) {  // the study would not have begun; what the reducers said is still there
    if (last != nullptr) findings.conclusions = last->conclusions;
    return findings;
  }
  findings.unit = analysis->objective().label();
  findings.spaces = spaces_of(input.spec, *analysis);
  findings.conclusions = conclusions_of(*analysis);
  if (!history.empty()) add_once(findings.dropped, dropped_stages(*analysis));
  return findings;
}

std::string log_of(const Failure& failure, const StudyDirectory& directory, const StudyView& view) {
  std::string place;
  for (const StageView& stage : view.stages) {
    if (!stage.manifest) continue;
    const auto& experiments = stage.manifest->experiments;
    const bool asked = std::any_of(
        experiments.begin(), experiments.end(),
        [&](const Experiment& experiment) { return experiment.id == failure.experiment; });
    if (!asked) continue;
    const auto root = directory.stage(stage.manifest->stage);
    place = failure.log.empty() ? (root / "logs").string() : (root / failure.log).string();
    for (const Shard& shard : stage.shards) {
      for (const Verdict& verdict : shard.verdicts) {
        const bool told = verdict.experiment == failure.experiment && verdict.evidence &&
                          verdict.evidence->log == failure.log;
        if (told) return place;
      }
    }
  }
  return place;
}

std::string asked_label(const std::string& experiment, const StudyView& view) {
  for (const StageView& stage : view.stages) {
    if (!stage.manifest) continue;
    for (const Experiment& asked : stage.manifest->experiments) {
      if (asked.id.text == experiment) return asked.label;
    }
  }
  return experiment;
}

std::vector<std::string> written_files(const StudyDirectory& directory) {
  std::vector<std::string> files;
  for (const std::string name : {"best/ds_config_optimal.json", "best/cmd_optimal.sh",
                                 "best/train_optimal.sbatch", "best/summary.txt", "results.csv"}) {
    const auto path = directory.root() / name;
    if (file_exists(path)) files.push_back(path.string());
  }
  return files;
}

std::string objective_in_words(const Interval& value, const StudyInput& input) {
  const auto objective = Objective::compile(input);
  return objective ? objective->in_words(value) : "";
}

SpeedupWords speedup_in_words(const Interval& speedup, const StudyInput& input) {
  const auto objective = Objective::compile(input);
  const bool is_speed = objective && objective->follows_step_time();
  const Interval ratio = objective && !is_speed ? objective->readable_ratio(speedup) : speedup;
  std::string times = fmt::format("{:.3g} times", ratio.mid);
  if (objective && !is_speed) times += " the " + objective->label();
  return {
      .name = is_speed ? "speed-up" : "ratio",
      .words = fmt::format("{} (95 % interval {:.3g} to {:.3g})", times, ratio.low, ratio.high)};
}

std::string probability_in_words(double probability) {
  return probability > 0.9985 ? "more than 0.998" : fmt::format("{:.3g}", probability);
}

}  // namespace slurmtune
