// SPDX-License-Identifier: MIT
#include "tests/unit/analyze/study_run.hpp"

#include <fmt/format.h>

#include "slurmtune/space/space.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune::test {

namespace {

void check_manifest(const Manifest& manifest, const PlannedStage& stage,
                    const std::vector<StageHistory>& history) {
  std::int64_t next = 0;
  for (const Slice& slice : manifest.slices) {
    CHECK(slice.first == next);
    CHECK(slice.end > slice.first);
    next = slice.end;
  }
  CHECK(next == static_cast<std::int64_t>(manifest.experiments.size()));
  CHECK(static_cast<std::int64_t>(manifest.slices.size()) <= stage.tasks_max);
  CHECK(static_cast<std::int64_t>(manifest.experiments.size()) <= stage.experiments_max);
  std::set<ExperimentId> measured;
  for (const StageHistory& past : history) {
    for (const Verdict& verdict : past.verdicts) {
      if (verdict.outcome == Outcome::ok) measured.insert(verdict.experiment);
    }
  }
  std::set<ExperimentId> here;
  for (const Experiment& experiment : manifest.experiments) {
    CHECK(measured.count(experiment.id) == 0);
    CHECK(here.insert(experiment.id).second);
  }
}

/// The same verdicts in another order, from other hosts, at other times.
std::vector<StageHistory> disguised(std::vector<StageHistory> history) {
  for (StageHistory& stage : history) {
    std::reverse(stage.verdicts.begin(), stage.verdicts.end());
    for (Verdict& verdict : stage.verdicts) {
      verdict.nodes = {"other" + std::to_string(verdict.lane)};
      verdict.started += std::chrono::hours(3);
      verdict.ended += std::chrono::hours(4);
      if (verdict.evidence) verdict.evidence->node = "elsewhere";
    }
  }
  return history;
}

}  // namespace

std::size_t StudyRun::configurations() const {
  std::set<ConfigurationId> found;
  for (const Experiment& experiment : experiments()) found.insert(experiment.configuration_id);
  return found.size();
}

std::vector<Experiment> StudyRun::experiments() const {
  std::vector<Experiment> all;
  for (const StageHistory& stage : history) {
    all.insert(all.end(), stage.manifest.experiments.begin(), stage.manifest.experiments.end());
  }
  return all;
}

std::string StudyRun::outline() const {
  std::string text;
  for (std::size_t i = 0; i < history.size(); ++i) {
    text += history[i].manifest.stage.text + ":";
    for (const Experiment& experiment : history[i].manifest.experiments) {
      text += " " + experiment.label;
    }
    text += "\n";
    for (const Dropped& dropped : decisions[i].dropped) {
      text += "  dropped " + dropped.what + ": " + dropped.because + "\n";
    }
    for (const Conclusion& conclusion : decisions[i].conclusions) {
      text += "  " + conclusion.about + ": " + conclusion.says + "\n";
    }
  }
  if (last().result) text += "result: " + result().why + "\n";
  return text;
}

StudyRun run_study(const StudyInput& input, const Machine& machine, const RunOptions& options) {
  StudyRun run;
  auto plan = make_plan(
      input, {.study = {"6b1f0000-0000-4000-8000-000000000001"}, .inputs = "sha256:test"});
  INFO((plan ? std::string() : plan.error().message));
  REQUIRE(plan);
  run.plan = *std::move(plan);
  Random chance(Seed{options.seed});
  const ResultAnalyzer analyzer(input, run.plan);
  auto manifest = ExperimentGenerator(input).generate(stage_request(run.plan, 0), {});
  REQUIRE(manifest);
  for (std::int64_t stage = 0; stage < options.stages_max; ++stage) {
    const auto index = run.plan.index_of(manifest->stage);
    REQUIRE(index);
    const PlannedStage& planned = run.plan.stages[*index];
    check_manifest(*manifest, planned, run.history);
    StageHistory past{.manifest = *manifest, .verdicts = {}};
    for (const Experiment& experiment : manifest->experiments) {
      past.verdicts.push_back(machine.run(experiment, chance));
    }
    run.history.push_back(std::move(past));
    const std::int64_t task_s = options.task_s > 0 ? options.task_s : planned.task_walltime_s;
    run.spent_node_seconds +=
        static_cast<std::int64_t>(manifest->slices.size()) * planned.nodes_per_task * task_s;
    const Spending spending{.node_seconds = run.spent_node_seconds};
    auto reduction = analyzer.reduce(run.history, spending);
    INFO((reduction ? std::string() : reduction.error().message));
    REQUIRE(reduction);
    const auto again = analyzer.reduce(disguised(run.history), spending);
    REQUIRE(again);
    const auto bytes = render_decision(reduction->decision);
    REQUIRE(bytes);
    CHECK(*bytes == render_decision(again->decision));
    CHECK(parse_decision(*bytes, "decision") == reduction->decision);
    run.decisions.push_back(reduction->decision);
    CHECK(reduction->next.has_value() == (reduction->decision.next.action != NextAction::finish));
    CHECK(reduction->decision.result.has_value() != reduction->next.has_value());
    if (!reduction->next) return run;
    CHECK(reduction->decision.next.stage == reduction->next->stage);
    manifest = *std::move(reduction->next);
  }
  FAIL("the study did not finish:\n" + run.outline());
  return run;
}

Exhaustive exhaustive(const StudyInput& input, const Machine& machine) {
  Exhaustive found;
  const auto space = make_space(input.spec);
  REQUIRE(space);
  const auto all = space->enumerate(100'000);
  REQUIRE(all);
  found.configurations = all->size();
  for (const Configuration& configuration : *all) {
    const double throughput = machine.true_throughput(configuration);
    if (throughput <= found.throughput) continue;
    found.throughput = throughput;
    found.best = configuration;
  }
  return found;
}

}  // namespace slurmtune::test
