// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tests/support/catch.hpp"
#include "tests/unit/input/study_texts.hpp"

using namespace slurmtune;

namespace {

Expected<StudyInput> with_config(const std::string& config, std::string_view rest = "",
                                 std::string_view command = R"("train.py", "{ds_config}")") {
  return read_texts(deepspeed_study(rest, command), config);
}

bool has_note(const Expected<StudyInput>& input, std::string_view part) {
  return std::ranges::any_of(input->spec.notes, [part](const std::string& note) {
    return note.find(part) != std::string::npos;
  });
}

}  // namespace

TEST_CASE("ds_config: the published example of DeepSpeed's autotuning is taken as it stands",
          "[input]") {
  const std::string config = R"({
    "train_micro_batch_size_per_gpu": "auto",
    "fp16": {"enabled": true},
    "autotuning": {
      "enabled": true,
      "arg_mappings": {
        "train_micro_batch_size_per_gpu": "--per_device_train_batch_size",
        "gradient_accumulation_steps ": "--gradient_accumulation_steps"
      }
    }
  })";
  const auto input = with_config(config, "",
                                 R"("python3", "run_clm.py", "--deepspeed", "ds_config.json",
    "--per_device_train_batch_size", "3", "--gradient_accumulation_steps=2")");
  REQUIRE(message_of(input) == "accepted");
  const DeepSpeedSpec& deepspeed = *input->spec.deepspeed;
  CHECK(deepspeed.zero_stages == std::vector<int>{0, 1, 2, 3});
  CHECK_FALSE(deepspeed.zero_stages_given);
  CHECK(deepspeed.fast);
  CHECK(deepspeed.arg_mappings.at("gradient_accumulation_steps") ==
        "--gradient_accumulation_steps");
  CHECK(deepspeed.micro_batch == 3);
  CHECK(deepspeed.gradient_accumulation == 2);
  CHECK(deepspeed.config_json ==
        R"({"fp16":{"enabled":true},"train_micro_batch_size_per_gpu":"auto"})");
  CHECK(input->spec.trial.command[3] == "{ds_config}");
  CHECK_FALSE(input->spec.batch.global.has_value());
}

TEST_CASE("P-01 ds_config: the ZeRO stage that the user gives is law", "[input]") {
  const auto stages = [](const std::string& stage, std::string_view rest = "") {
    const auto input = with_config("{\"zero_optimization\": {\"stage\": " + stage + "}}", rest);
    REQUIRE(message_of(input) == "accepted");
    return *input->spec.deepspeed;
  };
  CHECK(stages("2").zero_stages == std::vector<int>{2});
  CHECK(stages("2").zero_stages_given);
  CHECK(stages("2").zero_stage == 2);
  CHECK(stages("[3, 1]").zero_stages == std::vector<int>{1, 3});
  CHECK(stages("[3, 1]").zero_stage == 3);
  CHECK(stages("\"all\"").zero_stages == std::vector<int>{0, 1, 2, 3});
  CHECK(stages("\"all\"").zero_stages_given);
  CHECK(stages("\"auto\"").zero_stages == std::vector<int>{0, 1, 2, 3});
  CHECK_FALSE(stages("\"auto\"").zero_stages_given);
  CHECK(stages("2", "zero_stages = 1\n").zero_stages == std::vector<int>{1});
  CHECK(stages("2", "zero_stages = 1\n").zero_stage == 2);
  CHECK(stages("2", "zero_stages = \"all\"\n").zero_stages.size() == 4);
  const auto both = with_config("{\n\"zero_optimization\": {\n\"stage\": 2}}", "zero_stages = 1\n");
  CHECK(has_note(both,
                 "deepspeed.zero_stages of study.toml is used, not "
                 "zero_optimization.stage = [2] of ds_config.json:3"));
  const auto same = with_config("{\"zero_optimization\": {\"stage\": 1}}", "zero_stages = [1]\n");
  CHECK(same->spec.notes.empty());
}

TEST_CASE("ds_config: the global batch is the study's, else train_batch_size, else free",
          "[input]") {
  const std::string config = "{\n\"train_batch_size\": 64}";
  CHECK(with_config(config)->spec.batch.global == 64);
  CHECK(with_config(config)->spec.batch.where == "ds_config.json:2");
  const auto ours = with_config(config, "[batch]\nglobal = 128\n");
  CHECK(ours->spec.batch.global == 128);
  CHECK(has_note(ours, "batch.global = 128 of study.toml is used"));
  CHECK_FALSE(with_config(config, "[batch]\nglobal = \"free\"\n")->spec.batch.global.has_value());
  CHECK_FALSE(with_config("{\"train_batch_size\": \"auto\"}")->spec.batch.global.has_value());
  CHECK_FALSE(with_config("{}")->spec.batch.global.has_value());
}

TEST_CASE("ds_config: max_train_batch_size is batch.max_global unless the batch is constant",
          "[input]") {
  const std::string config = "{\"autotuning\": {\"max_train_batch_size\": 512}}";
  CHECK(with_config(config)->spec.batch.max_global == 512);
  const auto ours = with_config(config, "[batch]\nmax_global = 256\n");
  CHECK(ours->spec.batch.max_global == 256);
  CHECK(has_note(ours, "batch.max_global = 256"));
  const auto constant = with_config(config, "[batch]\nglobal = 64\n");
  CHECK_FALSE(constant->spec.batch.max_global.has_value());
  CHECK(has_note(constant, "has no effect"));
  CHECK(message_of(with_config("{\"autotuning\": {\n\"max_train_batch_size\": 4}}"))
            .starts_with("ds_config.json:2: no global batch up to 4"));
}

TEST_CASE("ds_config: the user's batch follows DeepSpeed's arithmetic", "[input]") {
  // 8 ranks.
  const auto batch = [](const std::string& config) {
    const auto input = with_config(config);
    REQUIRE(message_of(input) == "accepted");
    return std::pair(input->spec.deepspeed->micro_batch,
                     input->spec.deepspeed->gradient_accumulation);
  };
  using Pair = std::pair<std::int64_t, std::int64_t>;
  CHECK(batch("{}") == Pair(1, 1));
  CHECK(batch(R"({"train_micro_batch_size_per_gpu": 4})") == Pair(4, 1));
  CHECK(batch(R"({"train_batch_size": 64})") == Pair(8, 1));
  CHECK(batch(R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 2})") == Pair(2, 4));
  CHECK(batch(R"({"train_batch_size": 64, "gradient_accumulation_steps": 4})") == Pair(2, 4));
  CHECK(batch(R"({"gradient_accumulation_steps": 4})") == Pair(1, 4));
  CHECK(batch(R"({"train_micro_batch_size_per_gpu": [4, 2]})") == Pair(2, 1));
  CHECK(with_config("{}", "[batch]\nglobal = 64\n")->spec.deepspeed->gradient_accumulation == 8);
}

TEST_CASE("ds_config: a list of micro-batches replaces the search", "[input]") {
  const std::string config = R"({"train_micro_batch_size_per_gpu": [4, 2, 4]})";
  CHECK(with_config(config)->spec.batch.micro_batches == std::vector<std::int64_t>{2, 4});
  CHECK(with_config(config, "[batch]\nmicro_batch = \"auto\"\n")->spec.batch.micro_batches.empty());
  CHECK(with_config(config, "[batch]\nmicro_batch = 3\n")->spec.batch.micro_batches ==
        std::vector<std::int64_t>{3});
}

TEST_CASE("ds_config: the section \"autotuning\" is read and its idle keys are named", "[input]") {
  const auto input = with_config(R"({"autotuning": {"enabled": true, "fast": false,
    "metric": "latency", "max_train_micro_batch_size_per_gpu": 16, "mp_size": 1,
    "tuner_type": "random", "overwrite": false, "metric_path": null,
    "model_info": {"profile": true, "num_params": 1e9, "hidden_size": null}}})");
  REQUIRE(message_of(input) == "accepted");
  CHECK_FALSE(input->spec.deepspeed->fast);
  CHECK(input->spec.objective.metric == "step_s");
  CHECK(input->spec.objective.direction == Direction::minimize);
  CHECK(input->spec.batch.micro_batch_cap == 16);
  CHECK(input->spec.model.params == 1e9);
  CHECK_FALSE(input->spec.model.hidden.has_value());
  CHECK(
      has_note(input,
               "not used from \"autotuning\" of ds_config.json: tuner_type ([search] strategy says "
               "how the space is searched), profile (the baseline tells the model's facts)"));
}

TEST_CASE("ds_config: the study's fast, model and objective win and a note says so", "[input]") {
  const std::string config = R"({"autotuning": {"fast": false, "metric": "FLOPS",
    "model_info": {"num_params": 5}}})";
  const auto theirs = with_config(config);
  CHECK(theirs->spec.objective.metric == "flops_per_gpu");
  const auto ours = with_config(
      config, "fast = true\n[model]\nparams = 7\n[objective]\nmaximize = \"throughput\"\n");
  REQUIRE(message_of(ours) == "accepted");
  CHECK(ours->spec.deepspeed->fast);
  CHECK(ours->spec.model.params == 7.0);
  CHECK(ours->spec.objective.metric == "throughput");
  CHECK(has_note(ours, "fast = true of study.toml is used"));
  CHECK(has_note(ours, "model.params of study.toml is used"));
  CHECK(has_note(ours, "[objective] of study.toml is used"));
}

TEST_CASE("ds_config: a Trainer's own flags are kept in step with \"auto\"", "[input]") {
  const auto input =
      with_config(R"({"train_micro_batch_size_per_gpu": "auto"})", "",
                  R"("run.py", "{ds_config}", "--per_device_train_batch_size", "4")");
  REQUIRE(message_of(input) == "accepted");
  CHECK(input->spec.deepspeed->arg_mappings.at("train_micro_batch_size_per_gpu") ==
        "--per_device_train_batch_size");
  CHECK(input->spec.deepspeed->micro_batch == 4);
  CHECK(has_note(input, "agree with the config in every experiment"));
}

TEST_CASE("ds_config: what the config leaves open, the flags of arg_mappings say", "[input]") {
  // 8 ranks.
  const std::string mappings =
      "arg_mappings = { \"train_batch_size\" = \"--global\", train_micro_batch_size_per_gpu = "
      "\"--micro\", \"zero_optimization.stage\" = \"--zero\" }\n";
  const std::string command =
      R"("t.py", "{ds_config}", "--zero", "1", "--micro=4", "--global", "64")";
  const auto open = with_config("{}", mappings, command);
  REQUIRE(message_of(open) == "accepted");
  CHECK(open->spec.deepspeed->zero_stage == 1);
  CHECK(open->spec.deepspeed->micro_batch == 4);
  CHECK(open->spec.deepspeed->gradient_accumulation == 2);
  CHECK(open->spec.batch.global == 64);
  CHECK(open->spec.batch.where == "study.toml:6");
  CHECK(open->spec.deepspeed->zero_stages == std::vector<int>{0, 1, 2, 3});
  CHECK(has_note(open, "--zero 1 of trial.command is where the training stands"));
  CHECK(has_note(open, "the global batch is constant: --global 64 of study.toml:6"));
  // Of a list the flag says which; the study's own key wins.
  const auto listed = with_config("{\"zero_optimization\": {\"stage\": [0, 1]}}",
                                  mappings + "[batch]\nglobal = 96\n", command);
  REQUIRE(message_of(listed) == "accepted");
  CHECK(listed->spec.deepspeed->zero_stage == 1);
  CHECK(listed->spec.deepspeed->zero_stages == std::vector<int>{0, 1});
  CHECK(listed->spec.batch.global == 96);
  CHECK(
      has_note(listed, "batch.global = 96 of study.toml is used, not --global 64 of study.toml:6"));
  // Where both say something, the config counts.
  const auto both = with_config(
      "{\n\"train_batch_size\": 32,\n\"zero_optimization\": {\"stage\": 2}}", mappings, command);
  REQUIRE(message_of(both) == "accepted");
  CHECK(both->spec.deepspeed->zero_stage == 2);
  CHECK(both->spec.batch.global == 32);
  CHECK(has_note(both,
                 "train_batch_size = 32 of ds_config.json:2 is the user's own, not --global 64"));
  CHECK(has_note(both, "zero_optimization.stage = 2 of ds_config.json:3 is the user's own, not"));
}

TEST_CASE("ds_config: a flag of arg_mappings may be spelled otherwise in the command", "[input]") {
  for (const auto& [mapped, typed] : {std::pair("--my_micro_batch", "--my-micro-batch"),
                                      std::pair("--my-micro-batch", "--my_micro_batch")}) {
    CAPTURE(mapped);
    const auto study = with_config(
        "{}", fmt::format("arg_mappings = {{ train_micro_batch_size_per_gpu = \"{}\" }}\n", mapped),
        fmt::format(R"("t.py", "{{ds_config}}", "{}=4")", typed));
    REQUIRE(message_of(study) == "accepted");
    CHECK(study->spec.deepspeed->micro_batch == 4);
    CHECK(study->spec.deepspeed->arg_mappings.at("train_micro_batch_size_per_gpu") == typed);
  }
}

TEST_CASE(
    "ds_config: of a list of micro-batches the baseline has one, and what is left out is said",
    "[input]") {
  // 8 ranks. The baseline had 12, which DeepSpeed makes of the global batch alone.
  const auto study =
      with_config("{\"train_batch_size\": 96, \"train_micro_batch_size_per_gpu\": [3, 6, 5]}");
  REQUIRE(message_of(study) == "accepted");
  CHECK(study->spec.deepspeed->micro_batch == 3);
  CHECK(study->spec.deepspeed->gradient_accumulation == 4);
  CHECK(has_note(study, "micro-batch 5 is not tried: no accumulation makes a global batch of 96"));
}

TEST_CASE("ds_config: flags of arg_mappings that cannot be meant are named by their line",
          "[input]") {
  const auto error = [](const std::string& config, const std::string& flags) {
    return message_of(
        with_config(config,
                    "arg_mappings = { \"train_batch_size\" = \"--global-batch-size\", "
                    "train_micro_batch_size_per_gpu = \"--micro-batch-size\", "
                    "\"zero_optimization.stage\" = \"--zero-stage\" }\n",
                    R"("t.py", "{ds_config}", )" + flags));
  };
  CHECK(error("{}", R"("--zero-stage", "4")")
            .starts_with("study.toml:6: trial.command gives --zero-stage \"4\", which is not an "
                         "integer from 0 to 3"));
  CHECK(error("{}", R"("--global-batch-size", "60")")
            .starts_with("study.toml:6: the global batch 60 is not a multiple of the 8 ranks"));
  CHECK(error("{}", R"("--global-batch-size", "64", "--micro-batch-size", "3")")
            .starts_with("study.toml:6: --global-batch-size 64 is not micro-batch 3 x"));
  // Megatron-DeepSpeed reads flag and key, each for something else.
  CHECK(error("{\n\"zero_optimization\": {\"stage\": 2}}", R"("--zero-stage", "1")") ==
        "ds_config.json:2: zero_optimization.stage = 2 contradicts --zero-stage 1 of trial.command "
        "(study.toml:6): the training reads both; make them equal, or take the key out here");
  CHECK(error("{\"train_batch_size\": 64}", R"("--global-batch-size=128")")
            .starts_with("ds_config.json:1: train_batch_size = 64 contradicts"));
  CHECK(error("{\"train_micro_batch_size_per_gpu\": 2}", R"("--micro-batch-size", "4")")
            .starts_with("ds_config.json:1: train_micro_batch_size_per_gpu = 2 contradicts"));
  CHECK(error("{\"train_batch_size\": 64}", R"("--global-batch-size=64")") == "accepted");
  CHECK(error("{\"fp16\": {\n\"enabled\": true}}", R"("--bf16")") ==
        "ds_config.json:2: fp16.enabled = true contradicts --bf16 of trial.command (study.toml:6): "
        "the training reads both; make them equal");
  CHECK(error("{\"bf16\": {\"enabled\": true}}", R"("--bf16")") == "accepted");
}

TEST_CASE("ds_config: what is wrong in it is named by its own line", "[input]") {
  CHECK(message_of(with_config("[]")).starts_with("ds_config.json:1: a DeepSpeed config must be"));
  CHECK(message_of(with_config("{\n\"zero_optimization\": true}"))
            .starts_with("ds_config.json:2: zero_optimization must be an object"));
  CHECK(message_of(with_config("{\n\"gradient_accumulation_steps\": [1, 2]}"))
            .starts_with("ds_config.json:2: gradient_accumulation_steps is an array"));
  CHECK(message_of(with_config("{\n\"train_micro_batch_size_per_gpu\": []}"))
            .starts_with("ds_config.json:2: train_micro_batch_size_per_gpu is an empty list"));
  CHECK(message_of(with_config("{\n\"train_batch_size\": 0}"))
            .starts_with("ds_config.json:2: train_batch_size is 0"));
  CHECK(message_of(with_config("{\"autotuning\": {\n\"metric\": \"speed\"}}"))
            .starts_with("ds_config.json:2: the metric \"speed\" is not known"));
  CHECK(message_of(with_config("{\"autotuning\": {\n\"arg_mappings\": {\"a\": \"b\"}}}"))
            .starts_with("ds_config.json:2: arg_mappings: \"b\" is not a flag"));
  CHECK(message_of(with_config("{\n\"elasticity\": {\"enabled\": true}}"))
            .starts_with("ds_config.json:2: elasticity chooses the batch by itself"));
  CHECK(message_of(read_texts(deepspeed_study()))
            .starts_with("study.toml:8: the config \"ds_config.json\" was not read"));
}

TEST_CASE("ds_config: a null of a key that DeepSpeed knows is as if it were not there", "[input]") {
  const auto input = with_config(R"({"train_batch_size": null, "gradient_clipping": null,
    "own": {"kept": null},
    "zero_optimization": {"stage": null, "reduce_bucket_size": null,
                          "offload_optimizer": {"device": "cpu", "pin_memory": null}}})");
  REQUIRE(message_of(input) == "accepted");
  CHECK(input->spec.deepspeed->config_json ==
        R"({"own":{"kept":null},"zero_optimization":{"offload_optimizer":{"device":"cpu"}}})");
  CHECK(input->spec.deepspeed->zero_stages == std::vector<int>{0, 1, 2, 3});
  CHECK(
      has_note(input,
               "null in ds_config.json is as if the key were not there: train_batch_size, "
               "gradient_clipping, zero_optimization.stage, zero_optimization.reduce_bucket_size, "
               "zero_optimization.offload_optimizer.pin_memory"));
}

// What DeepSpeed 0.14.4 itself reads, tried with its own DeepSpeedZeroConfig.
TEST_CASE("ds_config: spellings that DeepSpeed takes become one, with a note", "[input]") {
  const auto config_of = [](const std::string& zero) {
    const auto input = with_config("{\"zero_optimization\": " + zero + "}");
    REQUIRE(message_of(input) == "accepted");
    REQUIRE_FALSE(input->spec.notes.empty());
    return input->spec.deepspeed->config_json;
  };
  CHECK(config_of(R"({"reduce_bucket_size": "500000000"})") ==
        R"({"zero_optimization":{"reduce_bucket_size":500000000}})");
  CHECK(config_of(R"({"overlap_comm": ["true", 0]})") ==
        R"({"zero_optimization":{"overlap_comm":[true,false]}})");
  CHECK(config_of(R"({"prefetch_bucket_size": 5})") ==
        R"({"zero_optimization":{"stage3_prefetch_bucket_size":5}})");
  CHECK(config_of(R"({"stage": 2, "cpu_offload": true})") ==
        R"({"zero_optimization":{"offload_optimizer":{"device":"cpu"},"stage":2}})");
  CHECK(config_of(R"({"a_key_of_tomorrow": 1})") ==
        R"({"zero_optimization":{"a_key_of_tomorrow":1}})");
  const auto types = with_config(R"({"communication_data_type": "FP16"})");
  REQUIRE(message_of(types) == "accepted");
  CHECK(types->spec.deepspeed->config_json == R"({"communication_data_type":"fp16"})");
}

TEST_CASE("ds_config: what DeepSpeed takes as it stands is taken without a word", "[input]") {
  const auto input = with_config(R"({
    "fp16": {"enabled": false, "loss_scale": 0, "initial_scale_power": 16, "opt_level": "O2"},
    "bf16": {"enabled": true}, "gradient_clipping": 1, "steps_per_print": 1e3,
    "optimizer": {"type": "adamw", "params": {"lr": 3e-5, "betas": [0.9, 0.95], "own": "x"}},
    "activation_checkpointing": {"number_checkpoints": false, "profile": false},
    "scheduler": {"type": "WarmupDecayLR", "params": {"warmup_num_steps": 10}},
    "zero_optimization": {"stage": 3, "reduce_bucket_size": 5e8, "mics_shard_size": -1,
      "stage3_model_persistence_threshold": 9223372036854775807, "leaf_module": {"classes": []},
      "offload_param": {"device": "nvme", "nvme_path": "/local"},
      "offload_optimizer": {"device": "cpu", "ratio": 0.5}},
    "wandb": {"enabled": true, "team": null}})");
  REQUIRE(message_of(input) == "accepted");
  CHECK(input->spec.notes.empty());
  const auto count = with_config(R"({"activation_checkpointing": {"number_checkpoints": 1}})");
  CHECK(count->spec.deepspeed->config_json ==
        R"({"activation_checkpointing":{"number_checkpoints":1}})");
}

TEST_CASE("ds_config: an optimizer of nobody's is noted, a misspelt key at the top, too",
          "[input]") {
  const auto input = with_config(R"({"optimizer": {"type": "Sophia"},
    "gradient_acumulation_steps": 4})");
  REQUIRE(message_of(input) == "accepted");
  CHECK(has_note(input, "optimizer.type = \"Sophia\" is none of DeepSpeed's or torch's"));
  CHECK(has_note(input,
                 "ds_config.json:2: DeepSpeed does not look at "
                 "\"gradient_acumulation_steps\"; did you mean "
                 "\"gradient_accumulation_steps\"?"));
}
