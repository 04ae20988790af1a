// SPDX-License-Identifier: MIT
#include "slurmtune/study/view.hpp"

#include <map>

#include "tests/support/catch.hpp"
#include "tests/unit/study/view_builder.hpp"

using namespace slurmtune;

TEST_CASE("current_stage: follows the decisions, over stages that were skipped", "[study]") {
  ViewBuilder study(4);
  CHECK(current_stage(study.view) == 0);
  study.decide(0, NextAction::release, 1);
  CHECK(current_stage(study.view) == 1);
  study.decide(1, NextAction::skip_to, 3);
  CHECK(current_stage(study.view) == 3);
  study.decide(3, NextAction::finish, 0);
  CHECK(current_stage(study.view) == 4);
}

TEST_CASE("open_slices: a slice is closed by its task_end or by the verdicts of all it holds",
          "[study]") {
  ViewBuilder study(2);
  study.manifest(0, 3, 2);  // 3 slices of 2 experiments
  CHECK(open_slices(study.view.stages[0]) == std::vector<std::int64_t>{0, 1, 2});
  study.shard(0, 1, 2, ViewBuilder::End::done);
  CHECK(open_slices(study.view.stages[0]) == std::vector<std::int64_t>{0, 2});
  study.shard(0, 2, 2, ViewBuilder::End::none);
  CHECK(open_slices(study.view.stages[0]) == std::vector<std::int64_t>{0});
  study.shard(0, 0, 1, ViewBuilder::End::none);
  CHECK(open_slices(study.view.stages[0]) == std::vector<std::int64_t>{0});
}

TEST_CASE("spent_node_seconds: a task without task_end is charged to its limit", "[study]") {
  ViewBuilder study(2);
  study.manifest(0, 2, 1);
  study.view.stages[0].manifest->task_walltime_s = 600;
  study.shard(0, 0, 1, ViewBuilder::End::done);
  study.view.stages[0].shards[0].end->node_seconds = 70;
  study.shard(0, 1, 0, ViewBuilder::End::none);
  study.view.stages[0].shards[1].start.allocated_nodes = 2;
  CHECK(spent_node_seconds(study.view) == 70 + 2 * 600);
}

TEST_CASE("history_with_losses: what a task left without a verdict says what became of the task",
          "[study]") {
  ViewBuilder builder(1);
  builder.manifest(0, 4, 2);
  builder.shard(0, 0, 2, ViewBuilder::End::done);
  builder.shard(0, 1, 1, ViewBuilder::End::none);  // killed under its second experiment
  builder.shard(0, 2, 0, ViewBuilder::End::none);
  builder.view.stages[0].shards.back().end =
      TaskEnd{.at = {}, .reason = "preempted", .node_seconds = 5};
  const auto history = history_with_losses(builder.view, 0);
  REQUIRE(history.size() == 1);
  std::map<std::string, std::string> lost;
  for (const Verdict& verdict : history[0].verdicts) {
    if (verdict.reason != lost_task) continue;
    CHECK(verdict.outcome == Outcome::not_started);
    lost[verdict.experiment.text] = verdict.evidence->line;
  }
  CHECK(lost == std::map<std::string, std::string>{{"01-stage-e3", "task 1: the runner died"},
                                                   {"01-stage-e4", "task 2: ended before it"},
                                                   {"01-stage-e5", "task 2: ended before it"},
                                                   {"01-stage-e6", "task 3: never began"},
                                                   {"01-stage-e7", "task 3: never began"}});
  CHECK(history_of(builder.view, 0)[0].verdicts.size() + lost.size() == history[0].verdicts.size());
}
