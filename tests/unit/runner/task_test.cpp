// SPDX-License-Identifier: MIT
#include <chrono>

#include "slurmtune/runner/start/setup_lines.hpp"
#include "slurmtune/runner/task_loop.hpp"
#include "slurmtune/runner/task_setting.hpp"
#include "slurmtune/runner/trial_setup.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

namespace {

using namespace std::chrono_literals;

Manifest manifest() {
  Manifest manifest;
  for (const char* name : {"a", "b", "c", "d"}) {
    Experiment experiment;
    experiment.id.text = name;
    manifest.experiments.push_back(experiment);
  }
  manifest.slices = {{0, 3}, {3, 3}, {3, 4}};
  manifest.task_walltime_s = 600;
  return manifest;
}

Shard shard(const std::vector<std::pair<const char*, Outcome>>& ended) {
  Shard shard;
  for (const auto& [name, outcome] : ended) {
    Verdict verdict;
    verdict.experiment.text = name;
    verdict.outcome = outcome;
    shard.verdicts.push_back(verdict);
  }
  return shard;
}

std::vector<std::string> names(const std::vector<Experiment>& experiments) {
  std::vector<std::string> names;
  names.reserve(experiments.size());
  for (const Experiment& experiment : experiments) names.push_back(experiment.id.text);
  return names;
}

}  // namespace

TEST_CASE("open_experiments: those of the slice, in order; none where there is no slice",
          "[runner]") {
  CHECK(names(open_experiments(manifest(), 0, {})) == std::vector<std::string>{"a", "b", "c"});
  CHECK(open_experiments(manifest(), 1, {}).empty());
  CHECK(names(open_experiments(manifest(), 2, {})) == std::vector<std::string>{"d"});
  CHECK(open_experiments(manifest(), 3, {}).empty());
  CHECK(open_experiments(manifest(), -1, {}).empty());
}

TEST_CASE("open_experiments: what was tried is not run again, what was not is, as another attempt",
          "[runner]") {
  const auto open = open_experiments(
      manifest(), 0,
      {shard({{"a", Outcome::ok}, {"b", Outcome::preempted}, {"c", Outcome::not_started}}),
       shard({{"b", Outcome::launch_error}})});
  REQUIRE(names(open) == std::vector<std::string>{"b", "c"});
  CHECK(open[0].attempt == 2);
  CHECK(open[1].attempt == 0);
  CHECK(attempt_name(open[0]) == "b.a2");
  CHECK(attempt_name(open[1]) == "c");
}

TEST_CASE("likely_trial_s: from experience, else from what is expected, within the limit",
          "[runner]") {
  Experiment experiment;
  experiment.max_steps = 20;
  experiment.limits.total_s = 300;
  CHECK(likely_trial_s(experiment, std::nullopt) == 60.0);
  CHECK(likely_trial_s(experiment, 40.0) == 60.0);
  experiment.expected.step_s = 2.0;
  CHECK(likely_trial_s(experiment, std::nullopt) == 110.0);
  CHECK(likely_trial_s(experiment, 1000.0) == 300.0);
}

TEST_CASE("task_setting: reads what Slurm tells an array task", "[runner]") {
  const Instant now{std::chrono::seconds(1'000'000)};
  const auto setting = task_setting({{"SLURM_ARRAY_JOB_ID", "12"},
                                     {"SLURM_JOB_ID", "15"},
                                     {"SLURM_ARRAY_TASK_ID", "3"},
                                     {"SLURM_RESTART_COUNT", "1"},
                                     {"SLURM_JOB_NUM_NODES", "2"},
                                     {"SLURM_GPUS_ON_NODE", "4"},
                                     {"SLURMTUNE_STARTED", "999990"}},
                                    manifest(), Site{}, {"n1", "n2"}, now);
  REQUIRE(setting.has_value());
  CHECK(setting->array_job == 12);
  CHECK(setting->task == 3);
  CHECK(setting->restart == 1);
  CHECK(setting->in_slurm_job);
  CHECK(setting->allocated_nodes == 2);
  CHECK(setting->gpus == 8);
  CHECK(setting->started == now - 10s);
  CHECK(setting->ends_by == now - 10s + 600s);
}

TEST_CASE("task_setting: a scheduler of ours is asked first, and gives no end", "[runner]") {
  const Instant now{std::chrono::seconds(1'000'000)};
  const auto setting = task_setting({{"SLURMTUNE_JOB", "7"}, {"SLURMTUNE_TASK", "2"}}, manifest(),
                                    Site{}, {"host"}, now);
  REQUIRE(setting.has_value());
  CHECK(setting->array_job == 7);
  CHECK(setting->task == 2);
  CHECK_FALSE(setting->in_slurm_job);
  CHECK_FALSE(setting->ends_by.has_value());
  const auto told = task_setting({{"SLURM_JOB_ID", "7"}, {"SLURM_JOB_END_TIME", "1000060"}},
                                 manifest(), Site{}, {"host"}, now);
  REQUIRE(told.has_value());
  CHECK(told->ends_by == now + 60s);
}

TEST_CASE("task_setting: without a job, or with one that is no number, it is refused", "[runner]") {
  CHECK_FALSE(task_setting({}, manifest(), Site{}, {"host"}, Instant{}).has_value());
  const auto odd = task_setting({{"SLURM_JOB_ID", "12a"}}, manifest(), Site{}, {"host"}, Instant{});
  REQUIRE_FALSE(odd.has_value());
  CHECK(odd.error().kind == ErrorKind::invalid_input);
}

TEST_CASE("run_setup: the environment that the lines leave is the trial's", "[runner]") {
  const std::vector<std::string> lines{"echo noise",
                                       "cd /",
                                       "export GREETING=$'two\\nlines'",
                                       "unset GONE",
                                       "for i in 1 2; do",
                                       "  export LAST=$i",
                                       "done"};
  const auto after = run_setup(lines, {{"PATH", "/usr/bin:/bin"}, {"GONE", "1"}}, "/tmp");
  REQUIRE(after.has_value());
  CHECK(after->at("GREETING") == "two\nlines");
  CHECK(after->at("LAST") == "2");
  CHECK_FALSE(after->contains("GONE"));
}

TEST_CASE("run_setup: a line that fails is told in its own words", "[runner]") {
  const std::vector<std::string> lines{"echo 'module: no such module: cuda/99' >&2", "false",
                                       "export NEVER=1"};
  const auto after = run_setup(lines, {{"PATH", "/usr/bin:/bin"}}, "/tmp");
  REQUIRE_FALSE(after.has_value());
  CHECK(after.error().message.find("no such module: cuda/99") != std::string::npos);
  CHECK(run_setup({}, {{"A", "b"}}, "/tmp").value() == Environment{{"A", "b"}});
}

TEST_CASE("global_batch_of: the study's constant, else what the configuration makes", "[runner]") {
  StudySpec spec;
  spec.trial.nodes = 2;
  spec.trial.processes_per_node = 2;
  CHECK_FALSE(global_batch_of(spec, {}).has_value());
  const Configuration configuration{{{"micro_batch", std::int64_t{4}}}};
  CHECK(global_batch_of(spec, configuration) == 16);
  spec.deepspeed.emplace();
  spec.deepspeed->micro_batch = 2;
  spec.deepspeed->gradient_accumulation = 3;
  CHECK(global_batch_of(spec, {}) == 24);
  CHECK(global_batch_of(spec, configuration) == 48);
  spec.batch.global = 64;
  CHECK(global_batch_of(spec, configuration) == 64);
}

TEST_CASE("hopeless_step_s: only for searches by throughput that have an incumbent", "[runner]") {
  StudySpec spec;
  spec.batch.global = 64;
  Manifest stage = manifest();
  Experiment experiment;
  experiment.purpose = Purpose::knobs;
  CHECK_FALSE(hopeless_step_s(spec, stage, experiment).has_value());
  stage.incumbent = Incumbent{{"c"}, {32.0, 33.0, 34.0}};
  CHECK(hopeless_step_s(spec, stage, experiment) == 2.0);
  experiment.purpose = Purpose::confirm;
  CHECK_FALSE(hopeless_step_s(spec, stage, experiment).has_value());
  experiment.purpose = Purpose::knobs;
  spec.objective.metric = "step_s";
  CHECK_FALSE(hopeless_step_s(spec, stage, experiment).has_value());
}

}  // namespace slurmtune
