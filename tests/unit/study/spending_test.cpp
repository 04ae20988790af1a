// SPDX-License-Identifier: MIT
#include "slurmtune/study/spending.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/study/view_builder.hpp"

using namespace slurmtune;

namespace {

/// One stage of four tasks of 600 s that array job 11 has run.
ViewBuilder study_with_array() {
  ViewBuilder study(1);
  study.manifest(0, 4, 1);
  study.view.stages[0].manifest->task_walltime_s = 600;
  study.view.plan.stages[0].task_walltime_s = 600;
  JobRecord array;
  array.name = "a";
  array.stage = study.name(0);
  array.tasks = 4;
  array.job = 11;
  study.view.state.jobs.push_back(array);
  return study;
}

void shard(ViewBuilder& study, std::int64_t slice, std::optional<std::int64_t> node_seconds) {
  study.shard(0, slice, 0, ViewBuilder::End::none);
  Shard& added = study.view.stages[0].shards.back();
  added.start.array_job = 11;
  if (node_seconds) added.end = TaskEnd{.at = {}, .reason = "done", .node_seconds = *node_seconds};
}

}  // namespace

TEST_CASE("Under a budget a task of which nobody has heard is charged to its limit", "[study]") {
  ViewBuilder study = study_with_array();
  shard(study, 0, 100);
  shard(study, 1, std::nullopt);
  CHECK(spent_node_seconds(study.view) == 700);
  study.view.plan.budget_node_seconds = 10'000;
  CHECK(spent_node_seconds(study.view) == 700 + 2 * 600);
  study.view.live_jobs->insert(11);  // they may still come
  CHECK(spent_node_seconds(study.view) == 700);
}

TEST_CASE("A start that was never launched costs a study without a budget nothing", "[study]") {
  ViewBuilder study = study_with_array();
  shard(study, 0, 100);
  shard(study, 0, 20);
  auto& shards = study.view.stages[0].shards;
  shards[1].start.restart = 2;  // of start 1 there is no shard
  shards[1].start.at = shards[0].end->at + std::chrono::hours(1);
  study.view.live_jobs->insert(11);
  CHECK(spent_node_seconds(study.view) == 120);
  study.view.plan.budget_node_seconds = 10'000;
  CHECK(spent_node_seconds(study.view) == 120 + 600);
  study.view.state.finished = Finished{};
  CHECK(spent_node_seconds(study.view) == 120);
}

TEST_CASE("Tasks run again only as far as the budget holds them and the confirmation", "[study]") {
  ViewBuilder study = study_with_array();
  for (std::int64_t slice = 0; slice < 4; ++slice) shard(study, slice, 600);
  CHECK_FALSE(tasks_within_budget(study.view, 0));
  study.view.plan.budget_node_seconds = 2400 + 2 * 600 + overhead_node_seconds(study.view);
  study.view.plan.budget_node_seconds = 2400 + 2 * 600 + overhead_node_seconds(study.view) + 599;
  CHECK(tasks_within_budget(study.view, 0) == 2);
  PlannedStage confirm;
  confirm.name = {"02-confirm"};
  confirm.kind = Purpose::confirm;
  confirm.worst_node_seconds = 600;
  study.view.plan.stages.push_back(confirm);
  study.view.stages.emplace_back();
  study.view.plan.budget_node_seconds = 2400 + 2 * 600 + overhead_node_seconds(study.view);
  CHECK(tasks_within_budget(study.view, 0) == 1);
  study.view.plan.budget_node_seconds = 2400;
  CHECK(tasks_within_budget(study.view, 0) == 0);
}

TEST_CASE("Reducers that are submitted again are kept room for", "[study]") {
  ViewBuilder study = study_with_array();
  study.view.plan.lone_job_node_seconds = 100;
  CHECK(overhead_node_seconds(study.view) == 0);  // no budget, nothing to keep
  study.view.plan.budget_node_seconds = 10'000;
  const std::int64_t planned = overhead_node_seconds(study.view);
  JobRecord reducer;
  reducer.stage = study.name(0);
  reducer.kind = JobKind::reducer;
  reducer.job = 12;
  study.view.state.jobs.push_back(reducer);
  reducer.job = 13;
  study.view.state.jobs.push_back(reducer);
  CHECK(overhead_node_seconds(study.view) == planned + 2 * 100);
}
