// SPDX-License-Identifier: MIT
//
// What a study makes of jobs that the batch system ended, or does not know.

#include <map>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/unit/tune/simulated_study.hpp"

using namespace slurmtune;

namespace {

std::vector<EndedTask> journalled_endings(const SimulatedStudy& study) {
  std::vector<EndedTask> all;
  for (const auto& [task, ended] : study.state().ended_tasks) all.push_back(ended);
  return all;
}

void run_to_end(SimulatedStudy& study) {
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  INFO(study.last_error());
  REQUIRE(study.state().finished);
}

/// Of those tasks whose end the journal has, of which there is at least one.
void check_all_ended(SimulatedStudy& study, TaskEnding ending) {
  const auto endings = journalled_endings(study);
  REQUIRE_FALSE(endings.empty());
  for (const EndedTask& task : endings) CHECK(task.ending == ending);
}

}  // namespace

TEST_CASE("a job that the controller does not know at first is not submitted again", "[tune]") {
  SimulatedStudy study;
  REQUIRE(study.process({Role::resume, 0}));
  const auto before = study.cluster().submitted().size();
  const int asked = study.cluster().calls().report;
  study.cluster().forget_for(1);
  REQUIRE(study.process({Role::resume, 0}));
  CHECK(study.cluster().submitted().size() == before);
  CHECK(study.cluster().calls().report == asked + 2);
  study.run();
  CHECK(study.state().finished);
}

TEST_CASE("a job that is missed twice is gone, and submitted again", "[tune]") {
  SimulatedStudy study;
  REQUIRE(study.process({Role::resume, 0}));
  const auto before = study.cluster().submitted().size();
  study.cluster().forget_for(2);
  REQUIRE(study.process({Role::resume, 0}));
  CHECK(study.cluster().submitted().size() > before);
}

TEST_CASE("jobs of concluded stages that were purged are not asked about twice", "[tune]") {
  FakeClusterOptions cluster;
  cluster.forget_after = std::chrono::seconds(1);
  SimulatedStudy study(SimulatedStudy::deepspeed_study(), SubmitMode::graph, cluster);
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  REQUIRE(study.state().finished);
  // One question for each process that looks: no job of ours was missed.
  CHECK(study.cluster().calls().accounting == 0);
}

TEST_CASE("how a lost task ended is journalled before anything is concluded from it", "[tune]") {
  SimulatedStudy study;
  study.dies = [](const std::string& name) { return name.ends_with("01-profile-a-0"); };
  study.death = JobState::preempted;
  run_to_end(study);
  check_all_ended(study, TaskEnding::preempted);
  const auto decision = study.view().stages.front().decision;
  REQUIRE(decision);
  CHECK_FALSE(decision->missing.empty());
  CHECK(study.result().best);
}

TEST_CASE("accounting tells of what the queue has forgotten, by one question", "[tune]") {
  FakeClusterOptions cluster;
  cluster.accounting = Accounting::on;
  cluster.forget_after = std::chrono::seconds(0);
  SimulatedStudy study(SimulatedStudy::deepspeed_study(), SubmitMode::graph, cluster);
  study.dies = [](const std::string& name) { return name.ends_with("01-profile-a-0"); };
  study.death = JobState::timed_out;
  run_to_end(study);
  check_all_ended(study, TaskEnding::timed_out);
}

TEST_CASE("a node under which tasks died twice is left out by all jobs that follow", "[tune]") {
  FakeClusterOptions cluster;
  cluster.requeue = Requeue::no;
  SimulatedStudy study(SimulatedStudy::deepspeed_study(), SubmitMode::graph, cluster);
  // The first tasks of both stages get the first node.
  const std::vector<StageName> stages = [&] {
    std::vector<StageName> names;
    for (const PlannedStage& stage : study.view().plan.stages) names.push_back(stage.name);
    return names;
  }();
  REQUIRE(stages.size() > 3);
  study.dies = [&](const std::string& name) {
    return name.ends_with(stages[0].text + "-a-0") || name.ends_with(stages[1].text + "-a-0");
  };
  study.death = JobState::node_failed;
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  INFO(study.last_error());
  const StudyState state = study.state();
  REQUIRE(state.finished);
  CHECK(study.result().best);
  std::map<std::string, int> failed;
  for (const auto& [task, ended] : state.ended_tasks) ++failed[ended.nodes];
  CHECK(failed["n1"] >= 2);
  CHECK(state.excluded_nodes.contains("n1"));
  for (const std::string& node : state.excluded_nodes) CHECK(failed[node] >= 2);
  // The arrays were in the queue already, and were told.
  int told = 0;
  for (std::size_t i = 2; i < stages.size(); ++i) {
    for (const JobRecord* job : state.jobs_of(stages[i], JobKind::array)) {
      const std::string& exclude = study.cluster().request_of({*job->job}).exclude;
      told += exclude.find("n1") != std::string::npos ? 1 : 0;
    }
  }
  CHECK(told > 0);
}

TEST_CASE("a study whose tasks all failed before their first line is not finished by that",
          "[tune]") {
  SimulatedStudy study;
  bool blind = true;  // the nodes do not see the directory
  study.dies = [&](const std::string& name) { return blind && name.ends_with("-a-0"); };
  study.death = JobState::failed;
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  REQUIRE_FALSE(study.state().finished);
  CHECK_THAT(study.last_error(), Catch::Contains("no task of this study could begin"));
  blind = false;
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  REQUIRE(study.state().finished);
  CHECK(study.state().finished->best);
}

TEST_CASE("a study whose jobs were all lost before they began is not finished by that", "[tune]") {
  SimulatedStudy study;
  const std::vector<std::string> nodes{"n1", "n2", "n3", "n4"};
  for (const std::string& node : nodes) study.cluster().fail_node(node);
  REQUIRE(study.process({Role::resume, 0}));
  for (const JobId job : study.cluster().submitted()) {
    // No trace is left of it, as if a controller that was killed had never known it.
    if (study.cluster().request_of(job).array_tasks) REQUIRE(study.cluster().cancel(job));
  }
  for (const std::string& node : nodes) study.cluster().repair_node(node);
  study.run();
  REQUIRE_FALSE(study.state().finished);
  CHECK_THAT(study.last_error(), Catch::Contains("no task of this study could begin"));
  REQUIRE(study.process({Role::resume, 0}));
  study.run();
  REQUIRE(study.state().finished);
  CHECK(study.state().finished->best);
}

TEST_CASE("a study whose tasks can never begin is given up after three times", "[tune]") {
  SimulatedStudy study;
  study.dies = [](const std::string& name) { return name.find("-a-") != std::string::npos; };
  int resumed = 0;
  for (; resumed < 5 && !(resumed > 0 && study.state().finished); ++resumed) {
    [[maybe_unused]] const auto said = study.process({Role::resume, 0});
    study.run();
  }
  CHECK(resumed >= 3);
  CHECK(resumed <= 4);
  REQUIRE(study.state().finished);
  CHECK(study.state().finished->stop == Stop::nothing_worked);
}
