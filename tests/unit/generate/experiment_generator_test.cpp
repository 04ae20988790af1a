// SPDX-License-Identifier: MIT
#include "slurmtune/generate/experiment_generator.hpp"

#include <algorithm>

#include "slurmtune/generate/task_time.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

StageRequest request_for(Purpose kind, const std::string& name) {
  return {.study = {"study"},
          .inputs = "sha256:0",
          .name = {name},
          .kind = kind,
          .round = 0,
          .experiments_max = 9,
          .tasks_max = 3,
          .nodes_per_task = 2,
          .task_walltime_s = 600,
          .node_seconds_cap = std::nullopt};
}

Manifest generated(const StudyInput& input, const StageRequest& request,
                   const std::vector<StageHistory>& history = {}) {
  const auto manifest = ExperimentGenerator(input).generate(request, history);
  INFO((manifest ? std::string() : manifest.error().message));
  REQUIRE(manifest);
  return *manifest;
}

/// A profile in which every experiment ended as `outcome_of` says.
template <class OutcomeOf>
StageHistory profiled(const StudyInput& input, OutcomeOf outcome_of) {
  StageHistory stage;
  stage.manifest = generated(input, request_for(Purpose::profile, "01-profile"));
  for (const Experiment& experiment : stage.manifest.experiments) {
    const Outcome outcome = outcome_of(experiment);
    stage.verdicts.push_back(outcome == Outcome::ok ? ok(experiment, 100.0)
                                                    : failed(experiment, outcome));
  }
  return stage;
}

std::vector<std::string> labels(const Manifest& manifest) {
  std::vector<std::string> found;
  for (const Experiment& experiment : manifest.experiments) found.push_back(experiment.label);
  return found;
}

}  // namespace

TEST_CASE("generator: the first manifest holds the frame, the baseline and the profile",
          "[generate]") {
  const StudyInput input = deepspeed_input();
  const Manifest manifest = generated(input, request_for(Purpose::profile, "01-profile"));
  CHECK(manifest.study.text == "study");
  CHECK(manifest.inputs == "sha256:0");
  CHECK(manifest.stage.text == "01-profile");
  CHECK(manifest.task_walltime_s == 600);
  CHECK(manifest.lanes == 1);
  CHECK(manifest.nodes_per_lane == 2);
  CHECK_FALSE(manifest.incumbent);
  CHECK(labels(manifest) == std::vector<std::string>{"z0_gas2_tmbspg1", "z0_gas2_tmbspg4",
                                                     "z1_gas2_tmbspg1", "z1_gas2_tmbspg4",
                                                     "z2_gas2_tmbspg1", "z2_gas2_tmbspg4",
                                                     "z3_gas2_tmbspg1", "z3_gas2_tmbspg4"});
  CHECK(manifest.experiments.front().purpose == Purpose::baseline);
  CHECK(manifest.slices == std::vector<Slice>{{0, 2}, {2, 5}, {5, 8}});
  CHECK(render_manifest(manifest) ==
        render_manifest(generated(input, request_for(Purpose::profile, "01-profile"))));
}

TEST_CASE("generator: what must be tried again comes first, with its attempt raised",
          "[generate]") {
  const StudyInput input = deepspeed_input();
  const StageHistory past = profiled(input, [](const Experiment& experiment) {
    if (experiment.label == "z1_gas2_tmbspg1") return Outcome::preempted;
    if (experiment.label == "z1_gas2_tmbspg4") return Outcome::crashed;
    return Outcome::ok;
  });
  const Manifest next = generated(input, request_for(Purpose::frontier, "02-frontier"), {past});
  REQUIRE(next.experiments.size() >= 2);
  CHECK(next.experiments[0].label == "z1_gas2_tmbspg1");
  CHECK(next.experiments[0].attempt == 1);
  CHECK(next.experiments[0].purpose == Purpose::profile);
  CHECK(next.experiments[0].needs_other_node_than.empty());
  CHECK(next.experiments[1].label == "z1_gas2_tmbspg4");
  CHECK(next.experiments[1].needs_other_node_than ==
        std::vector<ExperimentId>{next.experiments[1].id});
  CHECK(next.incumbent);
}

TEST_CASE("generator: an experiment that nothing came back from is tried again", "[generate]") {
  const StudyInput input = deepspeed_input();
  StageHistory past = profiled(input, [](const Experiment&) { return Outcome::ok; });
  const std::string lost = past.manifest.experiments[3].label;
  past.verdicts.erase(past.verdicts.begin() + 3);
  const Manifest next = generated(input, request_for(Purpose::frontier, "02-frontier"), {past});
  CHECK(next.experiments.front().label == lost);
  CHECK(next.experiments.front().attempt == 1);
}

TEST_CASE("generator: the second crash is the last", "[generate]") {
  const StudyInput input = deepspeed_input();
  StageHistory first = profiled(input, [](const Experiment& experiment) {
    return experiment.label == "z1_gas2_tmbspg1" ? Outcome::crashed : Outcome::ok;
  });
  StageHistory second;
  second.manifest = generated(input, request_for(Purpose::frontier, "02-frontier"), {first});
  for (const Experiment& experiment : second.manifest.experiments) {
    second.verdicts.push_back(failed(experiment, Outcome::crashed));
  }
  const Manifest next =
      generated(input, request_for(Purpose::frontier, "03-frontier"), {first, second});
  const auto again = labels(next);
  CHECK(std::find(again.begin(), again.end(), "z1_gas2_tmbspg1") == again.end());
}

TEST_CASE("generator: confirm repeats no experiment that was measured", "[generate]") {
  const StudyInput input = deepspeed_input();
  const StageHistory past = profiled(input, [](const Experiment&) { return Outcome::ok; });
  StageRequest request = request_for(Purpose::confirm, "05-confirm");
  request.experiments_max = 12;
  const Manifest confirm = generated(input, request, {past});
  CHECK_FALSE(confirm.incumbent);
  CHECK(confirm.slices.size() == 3);
  for (const Experiment& experiment : confirm.experiments) {
    CHECK(experiment.repeat >= 1);
    CHECK(experiment.purpose == Purpose::confirm);
    for (const Experiment& old : past.manifest.experiments) CHECK(experiment.id != old.id);
  }
}

TEST_CASE("generator: what the search lost last is caught up on before anything is confirmed",
          "[generate]") {
  const StudyInput input = deepspeed_input();
  const StageHistory past = profiled(input, [](const Experiment& experiment) {
    return experiment.label == "z1_gas2_tmbspg1" ? Outcome::preempted : Outcome::ok;
  });
  StageRequest request = request_for(Purpose::confirm, "05-confirm");
  request.experiments_max = 12;
  StageHistory caught_up;
  caught_up.manifest = generated(input, request, {past});
  REQUIRE(labels(caught_up.manifest) == std::vector<std::string>{"z1_gas2_tmbspg1"});
  CHECK(caught_up.manifest.experiments[0].attempt == 1);
  CHECK(caught_up.manifest.experiments[0].repeat == 0);
  // Lost again, it is not waited for: the second round confirms what there is.
  request.round = 1;
  const Manifest confirm = generated(input, request, {past, caught_up});
  REQUIRE_FALSE(confirm.experiments.empty());
  for (const Experiment& experiment : confirm.experiments) {
    CHECK(experiment.purpose == Purpose::confirm);
  }
}

TEST_CASE("generator: a stage whose question is answered has no experiments", "[generate]") {
  const StudyInput input = deepspeed_input();
  const StageHistory past = profiled(input, [](const Experiment&) { return Outcome::gpu_oom; });
  for (const Purpose kind : {Purpose::frontier, Purpose::curve, Purpose::confirm}) {
    const Manifest next = generated(input, request_for(kind, "02-next"), {past});
    CHECK(next.experiments.empty());
    CHECK(next.slices.empty());
  }
}

TEST_CASE("generator: limits of the frame hold", "[generate]") {
  const StudyInput input = deepspeed_input();
  StageRequest request = request_for(Purpose::profile, "01-profile");
  request.experiments_max = 5;
  CHECK(generated(input, request).experiments.size() == 5);
  request.node_seconds_cap = 2400;  // two tasks of two nodes for 600 s
  CHECK(generated(input, request).slices.size() == 2);
  request.experiments_max = 0;
  CHECK(generated(input, request).experiments.empty());
}

TEST_CASE("generator: a grid of a generic study", "[generate]") {
  const StudyInput input = generic_input();
  const Manifest manifest = generated(input, request_for(Purpose::grid, "01-grid"));
  CHECK(manifest.experiments.size() == 9);
  CHECK(manifest.experiments.front().label == "x-1_y-1");
  CHECK(manifest.experiments.front().purpose == Purpose::baseline);
}

TEST_CASE("generator: a kind of stage without a strategy is an error", "[generate]") {
  const StudyInput input = deepspeed_input();
  CHECK_FALSE(ExperimentGenerator(input).generate(request_for(Purpose::probe, "04-probe"), {}));
}
