// SPDX-License-Identifier: MIT
//
// Defects of DeepSpeed's own autotuner that concern what experiments are made of, by the numbers of
// the list in docs/user: each shown to be absent.

#include <algorithm>
#include <set>

#include <nlohmann/json.hpp>

#include "slurmtune/generate/experiment_generator.hpp"
#include "slurmtune/generate/templates.hpp"
#include "slurmtune/generate/trial.hpp"
#include "slurmtune/search/strategies.hpp"
#include "slurmtune/space/knob_space.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/tuning_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

constexpr const char* users_config = R"({
  "train_micro_batch_size_per_gpu": 1,
  "gradient_accumulation_steps": 2,
  "fp16": {"enabled": true},
  "optimizer": {"type": "Adam", "params": {"lr": 1e-4, "betas": [0.8, 0.99]}},
  "scheduler": {"type": "WarmupLR", "params": {"steps": [10, 20]}},
  "curriculum_learning": {"difficulties": [8, 16, 32]},
  "zero_optimization": {
    "stage": [1, 2, 3],
    "overlap_comm": true,
    "reduce_bucket_size": [3e8, 1e8],
    "offload_optimizer": {"device": "cpu"}
  },
  "autotuning": {"enabled": true, "fast": false}
})";

StudyInput users_study(const std::string& config = users_config) {
  StudySources sources;
  sources.study = {"study.toml", R"(format = 1
name = "defects"
[trial]
nodes = 2
processes_per_node = 2
launcher = "srun"
command = ["train", "--deepspeed_config", "{ds_config}"]
[deepspeed]
config = "ds_config.json"
[batch]
micro_batch = [1, 2, 4]
)"};
  sources.ds_config = SourceText{"ds_config.json", config};
  sources.site = {"site.toml", "format = 1\nname = \"test\"\n"};
  const auto input = read_study(sources);
  INFO((input ? std::string() : input.error().message));
  REQUIRE(input);
  return *input;
}

/// The first manifest of the knobs stage, after all ZeRO stages ran at micro-batch 4.
Manifest knobs_of(const StudyInput& input, bool reversed = false) {
  StageHistory past;
  std::vector<Experiment> ran;
  for (const std::int64_t stage : {1, 2, 3}) ran.push_back(experiment_of(zero(stage, 4)));
  past.manifest = manifest_of("01-profile", ran);
  for (const Experiment& experiment : ran) {
    past.verdicts.push_back(
        ok(experiment,
           100.0 + static_cast<double>(*experiment.configuration.integer(zero_stage_parameter))));
  }
  if (reversed) std::ranges::reverse(past.verdicts);
  const StageRequest request{.study = {"study"},
                             .inputs = "sha256:0",
                             .name = {"02-knobs"},
                             .kind = Purpose::knobs,
                             .round = 0,
                             .experiments_max = 40,
                             .tasks_max = 40,
                             .nodes_per_task = 2,
                             .task_walltime_s = 6000,
                             .node_seconds_cap = std::nullopt};
  const auto manifest = ExperimentGenerator(input).generate(request, std::vector{past});
  INFO((manifest ? std::string() : manifest.error().message));
  REQUIRE(manifest);
  REQUIRE(manifest->experiments.size() > 10);
  return *manifest;
}

Json config_of(const StudyInput& input, const Configuration& configuration,
               DsConfigUse use = DsConfigUse::experiment) {
  const auto text = render_ds_config(input.spec, configuration, use);
  INFO((text ? std::string() : text.error().message));
  REQUIRE(text);
  return Json::parse(*text);
}

}  // namespace

TEST_CASE("defect 1: every experiment of the full mode can be started", "[generate]") {
  const StudyInput input = users_study();
  for (const Experiment& experiment : knobs_of(input).experiments) {
    CAPTURE(experiment.label);
    const auto trial = render_trial(input.spec, experiment.configuration,
                                    {.work = "/w",
                                     .ds_config = "/w/ds_config.json",
                                     .workdir = "/",
                                     .nodes = 2,
                                     .processes = 4,
                                     .master_addr = "n1",
                                     .master_port = 1});
    REQUIRE(trial);
    CHECK(trial->files.contains("ds_config.json"));
    CHECK(trial->argv ==
          std::vector<std::string>{"train", "--deepspeed_config", "/w/ds_config.json"});
  }
}

TEST_CASE("defect 7: neither an experiment nor the optimum has an autotuning section",
          "[generate]") {
  const StudyInput input = users_study();
  for (const Experiment& experiment : knobs_of(input).experiments) {
    CHECK_FALSE(config_of(input, experiment.configuration).contains("autotuning"));
    const Json optimum = config_of(input, experiment.configuration, DsConfigUse::production);
    CHECK_FALSE(optimum.contains("autotuning"));
    CHECK_FALSE(optimum.contains("steps_per_print"));
  }
}

TEST_CASE("defect 8: the user's ZeRO settings are in every experiment and in the optimum",
          "[generate]") {
  const StudyInput input = users_study();
  for (const std::int64_t stage : {1, 2, 3}) {
    const Json zero_optimization = config_of(input, zero(stage, 2))["zero_optimization"];
    CHECK(zero_optimization["stage"] == stage);
    CHECK(zero_optimization["overlap_comm"] == true);
    CHECK(zero_optimization["offload_optimizer"]["device"] == "cpu");
  }
  for (const Experiment& experiment : knobs_of(input).experiments) {
    CAPTURE(experiment.label);
    for (const DsConfigUse use : {DsConfigUse::experiment, DsConfigUse::production}) {
      const Json zero_optimization =
          config_of(input, experiment.configuration, use)["zero_optimization"];
      CHECK(zero_optimization["overlap_comm"] == true);
      CHECK(zero_optimization["offload_optimizer"]["device"] == "cpu");
    }
  }
}

TEST_CASE("defect 22: lists of the user's that are no choices are left as they are", "[generate]") {
  const StudyInput input = users_study();
  const Json user = Json::parse(users_config);
  const auto untouched = [&](const Json& config) {
    CHECK(config["optimizer"] == user["optimizer"]);
    CHECK(config["scheduler"] == user["scheduler"]);
    CHECK(config["curriculum_learning"] == user["curriculum_learning"]);
  };
  const Json plain = config_of(input, zero(1, 2));
  untouched(plain);
  // A list of choices is one value in each trial; the first where nothing else is said.
  CHECK(plain["zero_optimization"]["reduce_bucket_size"] == 3e8);
  bool second = false;
  for (const Experiment& experiment : knobs_of(input).experiments) {
    const Json config = config_of(input, experiment.configuration);
    untouched(config);
    const Json bucket = config["zero_optimization"]["reduce_bucket_size"];
    CHECK((bucket == 3e8 || bucket == 1e8));
    second = second || bucket == 1e8;
  }
  CHECK(second);
}

TEST_CASE("defect 23: a ZeRO stage that is better at the same micro-batch leads", "[generate]") {
  // All three are best at micro-batch 4, and ZeRO 3 by 1 %: knobs are tried there, and on the
  // second, which is as good within noise.
  const Manifest manifest = knobs_of(users_study());
  REQUIRE(manifest.incumbent);
  CHECK(manifest.incumbent->configuration == configuration_id(zero(3, 4)));
  std::set<std::int64_t> stages;
  for (const Experiment& experiment : manifest.experiments) {
    stages.insert(*experiment.configuration.integer(zero_stage_parameter));
  }
  CHECK(stages == std::set<std::int64_t>{2, 3});
  // And no stage is bound to start from what the one before it reached.
  const auto space = make_space(users_study().spec);
  REQUIRE(space);
  CHECK(space->micro_batches(3) == std::vector<std::int64_t>{1, 2, 4});
}

TEST_CASE("defect 26: the order of experiments follows from the study alone", "[generate]") {
  const StudyInput input = users_study();
  const auto first = render_manifest(knobs_of(input));
  REQUIRE(first);
  CHECK(*first == render_manifest(knobs_of(input)));
  CHECK(*first == render_manifest(knobs_of(input, true)));  // whatever came back first
  StudyInput other = input;
  other.spec.seed = 2;
  CHECK(*first != render_manifest(knobs_of(other)));
}

TEST_CASE("defect 27: a study leaves the templates as they are", "[generate]") {
  const auto before = load_templates();
  REQUIRE(before);
  (void)knobs_of(users_study());
  for (const StageTemplate& layer : *before) {
    const StageTemplate copy = layer;
    CHECK(fill_template(layer, users_study().spec));
    CHECK(prune_template(layer, {{"zero_stage", 2.0}, {"ranks", 1.0}}));
    CHECK(layer == copy);
  }
  CHECK(load_templates() == before);
}

TEST_CASE("defect 34: offload, checkpointing, ZeRO++, NCCL and threads are tuned", "[generate]") {
  StudyInput input = users_study(R"({"train_micro_batch_size_per_gpu": 1,
    "zero_optimization": {"zero_quantized_weights": [false, true]},
    "activation_checkpointing": {"contiguous_memory_optimization": false},
    "autotuning": {"enabled": true, "fast": false}})");
  const auto space = make_space(input.spec);
  REQUIRE(space);
  const auto knobs = make_knob_space(input, *space, {});
  REQUIRE(knobs);
  std::set<std::string> names;
  for (const Knob& knob : knobs->knobs(3)) names.insert(knob.name);
  for (const char* name :
       {"zero_optimization.offload_optimizer.device", "zero_optimization.offload_optimizer.ratio",
        "zero_optimization.offload_param.device", "zero_optimization.zero_hpz_partition_size",
        "zero_optimization.zero_quantized_weights", "activation_checkpointing.cpu_checkpointing",
        "env:NCCL_ALGO", "env:NCCL_PROTO", "env:OMP_NUM_THREADS", "env:OMP_PROC_BIND"}) {
    CAPTURE(name);
    CHECK(names.contains(name));
  }
}

TEST_CASE("defect 37: no optimizer appears where the user has none", "[generate]") {
  const StudyInput input = users_study(R"({"train_micro_batch_size_per_gpu": 1,
    "autotuning": {"enabled": true, "fast": false}})");
  CHECK_FALSE(config_of(input, zero(1, 2)).contains("optimizer"));
  for (const Experiment& experiment : knobs_of(input).experiments) {
    const Json config = config_of(input, experiment.configuration);
    CHECK_FALSE(config.contains("optimizer"));
    CHECK_FALSE(config.contains("scheduler"));
  }
}
