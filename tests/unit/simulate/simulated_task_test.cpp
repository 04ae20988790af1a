// SPDX-License-Identifier: MIT
#include "slurmtune/simulate/simulated_task.hpp"

#include <algorithm>

#include "tests/support/catch.hpp"

using namespace slurmtune;
using namespace std::chrono_literals;

namespace {

constexpr Instant start{std::chrono::sys_days(std::chrono::year(2026) / 11 / 30)};

Experiment experiment(std::int64_t micro_batch, std::int64_t zero_stage = 1) {
  Experiment made;
  made.configuration.values = {{"zero_stage", zero_stage},
                               {"micro_batch", micro_batch},
                               {"gradient_accumulation", std::int64_t{1}}};
  made.configuration_id = configuration_id(made.configuration);
  made.max_steps = 20;
  made.id = experiment_id(made.configuration_id, made.max_steps, 0);
  made.limits = {900.0, 180.0, 1200.0};
  return made;
}

/// A GPU of 16 GB that 8 samples fit into, and a ninth does not.
TrainingFacts facts() {
  TrainingFacts made;
  made.params = 4e8;  // 4 bytes of parameters and gradients, 12 / 8 of the optimizer each
  made.setup.precision = Precision::fp16;
  made.data_parallel = 8;
  made.gpu_bytes = 16e9;
  made.fixed_bytes = 16e9 - 4e8 * 5.5 - 8.5 * 1e9;
  made.activation_bytes = 1e9;
  return made;
}

PerformanceSurface surface(SurfaceNoise noise = {}) {
  return {training_surface(facts()), std::move(noise), Seed{7}};
}

Manifest manifest(std::vector<Experiment> experiments, int lanes = 1) {
  Manifest made;
  made.study = {"6b1f3c52-7c1e-4f0a-9d55-0a3b8e2f4c61"};
  made.stage = {"01-profile"};
  made.lanes = lanes;
  made.slices = {{0, std::ssize(experiments)}};
  made.experiments = std::move(experiments);
  return made;
}

RunnerPlace place(int nodes = 1) {
  RunnerPlace made;
  made.array_job = 12;
  for (int i = 1; i <= nodes; ++i) made.nodes.push_back("n" + std::to_string(i));
  made.started = start;
  return made;
}

std::vector<Verdict> verdicts_of(const std::vector<ShardLine>& lines) {
  std::vector<Verdict> verdicts;
  for (const ShardLine& line : lines) {
    if (const auto* verdict = std::get_if<Verdict>(&line)) verdicts.push_back(*verdict);
  }
  return verdicts;
}

}  // namespace

TEST_CASE("training_surface: memory ends where it says, and step time grows with the batch",
          "[simulate]") {
  const Surface at = training_surface(facts());
  const SurfacePoint fits = at(experiment(8).configuration);
  CHECK(fits.outcome == Outcome::ok);
  CHECK(fits.peak_gpu_bytes < 16e9);
  CHECK(fits.global_batch == 64);
  CHECK(fits.step_s == Approx((0.05 + 8 * 0.02 + 0.1) * 0.98));
  const SurfacePoint fails = at(experiment(9).configuration);
  CHECK(fails.outcome == Outcome::gpu_oom);
  CHECK_FALSE(fails.line.empty());
  CHECK(at(experiment(9, 3).configuration).outcome == Outcome::ok);  // parameters are sharded
  CHECK(at(experiment(2, 0).configuration).outcome == Outcome::ok);
}

TEST_CASE("table_surface: answers from the table, and otherwise as it is told", "[simulate]") {
  const SurfacePoint slow{.step_s = 3.0};
  const SurfacePoint broken{.outcome = Outcome::crashed};
  const Surface at = table_surface({{experiment(1).configuration, slow}}, broken);
  CHECK(at(experiment(1).configuration).step_s == 3.0);
  CHECK(at(experiment(2).configuration).outcome == Outcome::crashed);
}

TEST_CASE("PerformanceSurface: verdicts follow from seed, experiment and attempt alone",
          "[simulate]") {
  const Experiment asked = experiment(4);
  const Verdict first = surface().run(asked, {{"n1"}, 0, start});
  CHECK(first == surface().run(asked, {{"n1"}, 0, start}));
  CHECK(surface().run(asked, {{"n2"}, 1, start + 1h}).steps == first.steps);
  Experiment again = asked;
  again.attempt = 1;
  CHECK(surface().run(again, {{"n1"}, 0, start}).steps != first.steps);
  const PerformanceSurface other{training_surface(facts()), {}, Seed{8}};
  CHECK(other.run(asked, {{"n1"}, 0, start}).steps != first.steps);
}

TEST_CASE("PerformanceSurface: what is measured is near what the surface says", "[simulate]") {
  const Verdict verdict = surface().run(experiment(4), {{"n1"}, 0, start});
  const SurfacePoint truth = surface().at(experiment(4).configuration);
  REQUIRE(verdict.outcome == Outcome::ok);
  CHECK(verdict.steps.measured == 20);
  CHECK(verdict.steps.step_s.size() == 20);
  CHECK(verdict.metrics.step_s->mid == Approx(truth.step_s).epsilon(0.05));
  CHECK(verdict.metrics.step_s->low < verdict.metrics.step_s->mid);
  CHECK(verdict.metrics.throughput->mid == Approx(32 / truth.step_s).epsilon(0.05));
  CHECK(verdict.metrics.throughput->low < verdict.metrics.throughput->high);
  CHECK(verdict.metrics.peak_gpu_bytes == truth.peak_gpu_bytes);
  CHECK(verdict.wall_s > verdict.startup_s);
  CHECK(verdict.ended == start + std::chrono::milliseconds(std::llround(verdict.wall_s * 1e3)));

  const PerformanceSurface exact{training_surface(facts()), {0.0, 0.0, {{"n2", 1.5}}}, Seed{1}};
  CHECK(exact.run(experiment(4), {{"n1"}, 0, start}).metrics.step_s->mid == Approx(truth.step_s));
  CHECK(exact.run(experiment(4), {{"n1", "n2"}, 0, start}).metrics.step_s->mid ==
        Approx(1.5 * truth.step_s));
}

TEST_CASE("PerformanceSurface: failures carry evidence, limits are kept", "[simulate]") {
  const Verdict oom = surface().run(experiment(9), {{"n1"}, 0, start});
  CHECK(oom.outcome == Outcome::gpu_oom);
  REQUIRE(oom.evidence);
  CHECK(oom.evidence->node == "n1");
  CHECK_FALSE(oom.evidence->line.empty());
  CHECK(oom.steps.measured == 0);
  CHECK_FALSE(oom.metrics.step_s);

  Experiment hasty = experiment(4);
  hasty.limits.total_s = 21.0;
  CHECK(surface().run(hasty, {{"n1"}, 0, start}).outcome == Outcome::timeout);
  CHECK(surface().run(hasty, {{"n1"}, 0, start}).wall_s == 21.0);
  hasty.limits.startup_s = 5.0;
  CHECK(surface().run(hasty, {{"n1"}, 0, start}).outcome == Outcome::hang);
  hasty = experiment(4);
  hasty.limits.stall_s = 0.1;
  CHECK(surface().run(hasty, {{"n1"}, 0, start}).outcome == Outcome::hang);
}

TEST_CASE("SimulatedTask: its shard reads back as a runner's", "[simulate]") {
  const SimulatedTask task(manifest({experiment(1), experiment(2), experiment(9)}), place(),
                           surface());
  const Instant end = start + task.duration();
  const auto text = render_shard(task.shard(JobState::completed, end));
  REQUIRE(text);
  const auto shard = parse_shard(*text, "shard");
  REQUIRE(shard);
  CHECK(shard->start.array_job == 12);
  CHECK(shard->start.nodes == std::vector<std::string>{"n1"});
  REQUIRE(shard->verdicts.size() == 3);
  CHECK(shard->verdicts[0].experiment == experiment(1).id);
  CHECK(shard->verdicts[1].started == shard->verdicts[0].ended);
  CHECK(shard->verdicts[2].outcome == Outcome::gpu_oom);
  REQUIRE(shard->end);
  CHECK(shard->end->reason == "done");
  CHECK(shard->end->at == end);
  CHECK(shard->end->node_seconds ==
        std::chrono::ceil<std::chrono::seconds>(task.duration()).count());
}

TEST_CASE("SimulatedTask: lanes run side by side, each on its own nodes", "[simulate]") {
  const auto experiments = std::vector{experiment(1), experiment(2), experiment(3), experiment(4)};
  const SimulatedTask one(manifest(experiments), place(), surface());
  const SimulatedTask two(manifest(experiments, 2), place(2), surface());
  CHECK(two.duration() < one.duration());
  const auto verdicts = verdicts_of(two.shard(JobState::completed, start + two.duration()));
  REQUIRE(verdicts.size() == 4);
  for (const Verdict& verdict : verdicts) {
    CHECK(verdict.nodes == std::vector<std::string>{verdict.lane == 0 ? "n1" : "n2"});
  }
  CHECK(std::is_sorted(verdicts.begin(), verdicts.end(),
                       [](const Verdict& a, const Verdict& b) { return a.ended < b.ended; }));
}

TEST_CASE("SimulatedTask: what was judged before a restart is not run again", "[simulate]") {
  RunnerPlace restarted = place();
  restarted.restart = 1;
  restarted.judged = {{experiment(1).id, 0}};
  const SimulatedTask task(manifest({experiment(1), experiment(2)}), restarted, surface());
  const auto verdicts = verdicts_of(task.shard(JobState::completed, start + task.duration()));
  REQUIRE(verdicts.size() == 1);
  CHECK(verdicts[0].experiment == experiment(2).id);
}

TEST_CASE("SimulatedTask: an experiment that might not end in time is not started", "[simulate]") {
  RunnerPlace shorter = place();
  shorter.ends_by = start + 1210s;
  const SimulatedTask task(manifest({experiment(1), experiment(2)}), shorter, surface());
  const auto verdicts = verdicts_of(task.shard(JobState::completed, start + task.duration()));
  REQUIRE(verdicts.size() == 2);
  const auto late = std::find_if(verdicts.begin(), verdicts.end(), [](const Verdict& verdict) {
    return verdict.outcome == Outcome::not_started;
  });
  REQUIRE(late != verdicts.end());
  CHECK(late->experiment == experiment(2).id);
  CHECK(late->reason == "no_time");
}

TEST_CASE("SimulatedTask: what runs when a task is preempted is judged so", "[simulate]") {
  const SimulatedTask task(manifest({experiment(1), experiment(2), experiment(3)}), place(),
                           surface());
  const auto all = verdicts_of(task.shard(JobState::completed, start + task.duration()));
  const Instant cut = all[1].started + 1s;

  const auto lines = task.shard(JobState::preempted, cut);
  const auto verdicts = verdicts_of(lines);
  REQUIRE(verdicts.size() == 2);
  CHECK(verdicts[0] == all[0]);
  CHECK(verdicts[1].outcome == Outcome::preempted);
  CHECK(verdicts[1].wall_s == 1.0);
  CHECK_FALSE(verdicts[1].metrics.step_s);
  CHECK(std::get<TaskEnd>(lines.back()).reason == "preempted");
  CHECK(parse_shard(render_shard(lines).value(), "shard")->verdicts == verdicts);

  CHECK(std::get<TaskEnd>(task.shard(JobState::timed_out, cut).back()).reason == "no_time");
  const auto broken = task.shard(JobState::node_failed, cut);
  CHECK(verdicts_of(broken) == std::vector{all[0]});
  CHECK_FALSE(std::holds_alternative<TaskEnd>(broken.back()));
}

TEST_CASE("SimulatedTask: a slice that the manifest does not have is empty", "[simulate]") {
  RunnerPlace beyond = place();
  beyond.slice = 5;
  const SimulatedTask task(manifest({experiment(1)}), beyond, surface());
  const auto lines = task.shard(JobState::completed, start + task.duration());
  CHECK(lines.size() == 2);
  CHECK(std::get<TaskEnd>(lines.back()).reason == "done");
}
