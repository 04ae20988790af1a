// SPDX-License-Identifier: MIT
#include "slurmtune/study/endings.hpp"

#include <map>

#include "slurmtune/model/history.hpp"
#include "slurmtune/study/decide.hpp"
#include "slurmtune/study/node_faults.hpp"
#include "slurmtune/study/node_list.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/study/view_builder.hpp"

using namespace slurmtune;

namespace {

constexpr std::int64_t array_job = 12;

JobReport over(std::int64_t task, JobState state, std::string nodes = "") {
  return {.job = {array_job},
          .task = task,
          .name = "",
          .state = state,
          .reason = "",
          .nodes = std::move(nodes)};
}

/// A stage of one slice of three experiments, whose task is over; `judged` have a verdict.
struct Lost {
  Lost(JobReport report, std::int64_t judged, bool began = true, int lanes = 1) : study(1) {
    study.manifest(0, 1, 3);
    study.view.stages[0].manifest->lanes = lanes;
    study.view.stages[0].manifest->task_walltime_s = 1800;
    study.job(study.name(0), JobKind::array, array_job, ViewBuilder::Life::over, 1);
    if (began) study.shard(0, 0, judged, ViewBuilder::End::none);
    if (began) study.view.stages[0].shards.back().start.array_job = array_job;
    study.view.reported_over = {std::move(report)};
    study.view.settled = true;
  }

  /// Does what `decide` asks for until the stage is to be reduced.
  void journal() {
    for (int i = 0; i < 10; ++i) {
      const auto action = decide(study.view, {Role::reduce, 0}, {});
      REQUIRE(action);
      REQUIRE(*action);
      if (const auto* ended = std::get_if<RecordEndings>(&**action)) {
        CHECK(ended->stage == study.name(0));
        for (const EndedTask& task : ended->tasks) {
          study.view.state.ended_tasks[{ended->job, task.task}] = task;
        }
      } else if (const auto* exclude = std::get_if<ExcludeNodes>(&**action)) {
        excluded.push_back(*exclude);
        study.view.state.excluded_nodes.insert(exclude->nodes.begin(), exclude->nodes.end());
      } else {
        CHECK(std::holds_alternative<ReduceStage>(**action));
        return;
      }
    }
    FAIL("it never reduces");
  }

  /// Outcome, reason and evidence of the experiments without a verdict, in their order.
  std::vector<std::string> verdicts() {
    journal();
    study.view.reported_over.clear();  // from now on the journal has to do
    std::vector<std::string> found;
    const auto history = history_with_losses(study.view, 0);
    for (const Verdict& verdict : history.front().verdicts) {
      if (verdict.outcome == Outcome::ok) continue;
      found.push_back(fmt::format("{} {} {}", name_of(verdict.outcome), verdict.reason,
                                  verdict.evidence->line));
    }
    return found;
  }

  ViewBuilder study;
  std::vector<ExcludeNodes> excluded;
};

using Words = std::vector<std::string>;

}  // namespace

TEST_CASE("endings: each is in the table once, under its own name", "[study]") {
  std::map<std::string_view, int> keys;
  for (const EndingRule& rule : ending_rules()) {
    ++keys[rule.key];
    CHECK(&rule_of(rule.ending) == &rule);
    CHECK(task_ending_named(rule.key) == rule.ending);
  }
  CHECK(keys.size() == ending_rules().size());
}

TEST_CASE("endings: every state that is over has one, and no other", "[study]") {
  for (int i = 0; i <= static_cast<int>(JobState::unknown); ++i) {
    const auto state = static_cast<JobState>(i);
    INFO(name_of(state));
    CHECK(ending_of(over(0, state)).has_value() == is_over(state));
  }
}

TEST_CASE("endings: what a task left without a verdict is told in Slurm's words", "[study]") {
  JobReport exited = over(0, JobState::failed, "n2");
  exited.exit_code = 3;
  CHECK(Lost(exited, 2).verdicts() == Words{"not_started lost_task task 0: FAILED, exit code 3"});
  JobReport killed = over(0, JobState::failed, "n2");
  killed.signal = 9;
  CHECK(Lost(killed, 2).verdicts() == Words{"not_started lost_task task 0: FAILED, signal 9"});
  CHECK(
      Lost(over(0, JobState::node_failed, "n2"), 1).verdicts() ==
      Words{"node_failure lost_task task 0: NODE_FAIL", "not_started lost_task task 0: NODE_FAIL"});
  CHECK(Lost(over(0, JobState::preempted), 2).verdicts() ==
        Words{"preempted lost_task task 0: PREEMPTED"});
  CHECK(Lost(over(0, JobState::timed_out), 2).verdicts() ==
        Words{"preempted lost_task task 0: TIMEOUT after 30 min"});
  CHECK(
      Lost(over(0, JobState::timed_out), 0, false).verdicts().front() ==
      "not_started lost_task task 0: TIMEOUT after 30 min, before its first experiment: the set-up "
      "takes longer than a task may");
  CHECK(Lost(over(0, JobState::deadline), 2).verdicts() ==
        Words{"not_started lost_for_good task 0: DEADLINE"});
}

TEST_CASE("endings: a task out of memory blames the experiment that surely ran", "[study]") {
  const JobReport oom = over(0, JobState::out_of_memory);
  CHECK(Lost(oom, 1).verdicts() == Words{"host_oom lost_task task 0: OUT_OF_MEMORY",
                                         "not_started lost_task task 0: OUT_OF_MEMORY"});
  // Of two lanes nobody tells which it was, nor of a task that never said a word.
  for (const std::string& verdict : Lost(oom, 1, true, 2).verdicts()) {
    CHECK(verdict == "not_started lost_task task 0: OUT_OF_MEMORY");
  }
  for (const std::string& verdict : Lost(oom, 0, false).verdicts()) {
    CHECK(verdict == "not_started lost_task task 0: OUT_OF_MEMORY");
  }
}

TEST_CASE("endings: who cancelled a task decides whether it is run again", "[study]") {
  JobReport report = over(0, JobState::cancelled);
  CHECK(Lost(report, 2).verdicts() == Words{"cancelled lost_task task 0: CANCELLED"});
  report.cancelled_by = CancelledBy::other;
  CHECK(Lost(report, 2).verdicts() ==
        Words{"cancelled lost_task task 0: CANCELLED by another user"});
  report.cancelled_by = CancelledBy::owner;
  CHECK(Lost(report, 1).verdicts() ==
        Words{"cancelled lost_for_good task 0: CANCELLED by the study's owner",
              "not_started lost_for_good task 0: CANCELLED by the study's owner"});
}

TEST_CASE("endings: what a task wrote as its owner cancelled it is not run again", "[study]") {
  JobReport report = over(0, JobState::cancelled);
  report.cancelled_by = CancelledBy::owner;
  Lost lost(report, 3);
  Shard& shard = lost.study.view.stages[0].shards.back();
  shard.end = TaskEnd{.at = {}, .reason = "cancelled", .node_seconds = 1};
  shard.verdicts[1].outcome = Outcome::cancelled;
  shard.verdicts[2].outcome = Outcome::not_started;
  CHECK(lost.verdicts() ==
        Words{"cancelled cancelled_by_owner task 0: CANCELLED by the study's owner",
              "not_started cancelled_by_owner task 0: CANCELLED by the study's owner"});
}

TEST_CASE("endings: of a slice that was run again the newest task counts", "[study]") {
  Lost lost(over(0, JobState::node_failed), 1);
  lost.study.job(lost.study.name(0), JobKind::array, array_job + 1, ViewBuilder::Life::over, 1);
  JobReport second = over(0, JobState::preempted);
  second.job.number = array_job + 1;
  lost.study.view.reported_over.push_back(second);
  for (const std::string& verdict : lost.verdicts()) CHECK(verdict.ends_with("PREEMPTED"));
}

TEST_CASE("node faults: a node that failed twice is left out, a cause named or not", "[study]") {
  Lost lost(over(0, JobState::node_failed, "n2"), 1);
  lost.study.view.nodes_there = 4;
  lost.journal();
  CHECK(lost.excluded.empty());  // once
  Shard& shard = lost.study.view.stages[0].shards.back();
  shard.verdicts[0].outcome = Outcome::node_failure;
  shard.verdicts[0].nodes = {"n1", "n2"};
  shard.verdicts[0].evidence.emplace().node = "n2";
  shard.verdicts.push_back(shard.verdicts[0]);
  lost.journal();
  REQUIRE(lost.excluded.size() == 1);
  CHECK(lost.excluded[0].nodes == Words{"n2"});
  CHECK(lost.excluded[0].why == "n2: 01-stage: node_failure, 01-stage: node_failure");
}

TEST_CASE("node faults: no more nodes are left out than the tasks can spare", "[study]") {
  Lost lost(over(0, JobState::completed), 0);
  Shard& shard = lost.study.view.stages[0].shards.back();
  shard.start.nodes = {"n1", "n2", "n3"};
  for (const char* node : {"n1", "n2", "n2", "n1", "n1"}) {
    Verdict& verdict = shard.verdicts.emplace_back();
    verdict.outcome = Outcome::node_failure;
    verdict.nodes = {node};
  }
  CHECK(faulty_nodes(lost.study.view).size() == 2);
  lost.study.view.plan.stages[0].nodes_per_task = 2;
  REQUIRE(nodes_to_exclude(lost.study.view).size() == 1);
  CHECK(nodes_to_exclude(lost.study.view)[0].node == "n1");  // it failed more often
  lost.study.view.nodes_there = 2;
  CHECK(nodes_to_exclude(lost.study.view).empty());
  lost.study.view.nodes_there = 9;
  CHECK(nodes_to_exclude(lost.study.view).size() == 2);
}

TEST_CASE("node faults: several nodes are to blame unless they worked later", "[study]") {
  Lost lost(over(0, JobState::completed), 0);
  Shard& shard = lost.study.view.stages[0].shards.back();
  const Instant start{std::chrono::seconds(1'000)};
  for (int i = 0; i < 2; ++i) {
    Verdict& verdict = shard.verdicts.emplace_back();
    verdict.outcome = Outcome::node_failure;
    verdict.nodes = {"n1", "n2"};
    verdict.ended = start;
  }
  CHECK(faulty_nodes(lost.study.view).size() == 2);
  Verdict& later = shard.verdicts.emplace_back();
  later.outcome = Outcome::ok;
  later.nodes = {"n1"};
  later.started = start + std::chrono::seconds(1);
  REQUIRE(faulty_nodes(lost.study.view).size() == 1);
  CHECK(faulty_nodes(lost.study.view)[0].node == "n2");
}

TEST_CASE("node faults: trials that start on no node say nothing about one", "[study]") {
  Lost lost(over(0, JobState::completed), 0);
  Shard& shard = lost.study.view.stages[0].shards.back();
  for (int i = 0; i < 2; ++i) {
    Verdict& verdict = shard.verdicts.emplace_back();
    verdict.outcome = Outcome::launch_error;
    verdict.nodes = {"n3"};
  }
  CHECK(faulty_nodes(lost.study.view).empty());
  Verdict& elsewhere = shard.verdicts.emplace_back();
  elsewhere.outcome = Outcome::crashed;
  elsewhere.nodes = {"n1"};
  REQUIRE(faulty_nodes(lost.study.view).size() == 1);
  CHECK(faulty_nodes(lost.study.view)[0].node == "n3");
}

TEST_CASE("expand_nodes: Slurm's notation", "[study]") {
  CHECK(expand_nodes("").empty());
  CHECK(expand_nodes("n1") == Words{"n1"});
  CHECK(expand_nodes("n[1-3,07],m2") == Words{"n1", "n2", "n3", "n07", "m2"});
  CHECK(expand_nodes("n[08-11]") == Words{"n08", "n09", "n10", "n11"});
  CHECK(expand_nodes("r[1-2]n[1-2]") == Words{"r1n1", "r1n2", "r2n1", "r2n2"});
  CHECK(expand_nodes("n[1-") == Words{"n[1-"});
  CHECK(expand_nodes("n[a-b],n[3-1]") == Words{"n[a-b]", "n[3-1]"});
}
