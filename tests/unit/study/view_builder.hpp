// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include <fmt/core.h>

#include "slurmtune/study/view.hpp"

namespace slurmtune {

/// Builds views of a study by hand, for tests of what `decide` makes of them.
class ViewBuilder {
 public:
  enum class End { none, done };

  explicit ViewBuilder(std::size_t stages) {
    view.state.created.study = {"6b1f3c52-7c1e-4f0a-9d55-0a3b8e2f4c61"};
    view.plan.study = view.state.created.study;
    for (std::size_t i = 0; i < stages; ++i) {
      PlannedStage stage;
      stage.name = {fmt::format("{:02}-stage", i + 1)};
      stage.tasks_max = stage.tasks_at_once = 4;
      view.plan.stages.push_back(stage);
    }
    view.stages.resize(stages);
    view.live_jobs.emplace();
  }

  [[nodiscard]] const StageName& name(std::size_t stage) const {
    return view.plan.stages[stage].name;
  }

  /// A manifest of `slices` slices with `each` experiments, published and released.
  void manifest(std::size_t stage, std::int64_t slices, std::int64_t each) {
    Manifest manifest;
    manifest.study = view.plan.study;
    manifest.stage = name(stage);
    for (std::int64_t i = 0; i < slices * each; ++i) {
      Experiment experiment;
      experiment.id = {fmt::format("{}-e{}", name(stage).text, i)};
      manifest.experiments.push_back(experiment);
    }
    for (std::int64_t i = 0; i < slices; ++i) manifest.slices.push_back({i * each, (i + 1) * each});
    view.stages[stage].manifest = manifest;
    view.state.released[name(stage)] = slices;
  }

  /// A shard of one slice with the first `verdicts` of its experiments judged.
  void shard(std::size_t stage, std::int64_t slice, std::int64_t verdicts, End end) {
    const Manifest& manifest = *view.stages[stage].manifest;
    Shard shard;
    shard.start.slice = slice;
    const std::int64_t first = manifest.slices[static_cast<std::size_t>(slice)].first;
    for (std::int64_t i = 0; i < verdicts; ++i) {
      Verdict verdict;
      verdict.experiment = manifest.experiments[static_cast<std::size_t>(first + i)].id;
      verdict.outcome = Outcome::ok;
      shard.verdicts.push_back(verdict);
    }
    if (end == End::done) shard.end = TaskEnd{.at = {}, .reason = "done", .node_seconds = 0};
    view.stages[stage].shards.push_back(shard);
  }

  /// All slices of a stage ended.
  void run(std::size_t stage) {
    const auto slices = view.stages[stage].manifest->slices.size();
    for (std::size_t i = 0; i < slices; ++i) {
      shard(stage, static_cast<std::int64_t>(i), 0, End::done);
    }
  }

  /// decision.json of a stage, journalled.
  void decide(std::size_t stage, NextAction action, std::size_t next) {
    Decision decision;
    decision.stage = name(stage);
    decision.next.action = action;
    if (action == NextAction::finish) {
      decision.result.emplace();
    } else {
      decision.next.stage = name(next);
    }
    view.stages[stage].decision = decision;
    view.state.decided.insert(name(stage));
  }

  enum class Life { live, over };

  /// A job that the journal knows.
  void job(const StageName& stage, JobKind kind, std::int64_t number, Life life,
           std::int64_t tasks = 4) {
    JobRecord job;
    job.stage = stage;
    job.kind = kind;
    job.attempt = view.state.next_attempt(stage, kind);
    job.name = job_name(view.plan.study, stage, kind, job.attempt);
    if (kind == JobKind::array) job.tasks = tasks;
    job.job = number;
    view.state.jobs.push_back(job);
    if (life == Life::live) view.live_jobs->insert(number);
  }

  StudyView view;
};

}  // namespace slurmtune
