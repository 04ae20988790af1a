// SPDX-License-Identifier: MIT
#include <algorithm>
#include <string>

#include "tests/support/catch.hpp"
#include "tests/unit/input/study_texts.hpp"

using namespace slurmtune;

namespace {

Expected<StudyInput> with(const std::string& config, std::string_view flags) {
  return read_texts(
      deepspeed_study("", R"("run_clm.py", "--deepspeed", "{ds_config}", )" + std::string(flags)),
      config);
}

DeepSpeedSpec taken(const std::string& config, std::string_view flags) {
  const auto input = with(config, flags);
  REQUIRE(message_of(input) == "accepted");
  return *input->spec.deepspeed;
}

}  // namespace

TEST_CASE("Hugging Face: its flags are known without being told, \"auto\" or not", "[input]") {
  for (const std::string config : {"{}", R"({"train_micro_batch_size_per_gpu": 4})",
                                   R"({"train_micro_batch_size_per_gpu": "auto"})"}) {
    const DeepSpeedSpec spec = taken(config, R"("--per_device_train_batch_size", "4")");
    CHECK(spec.hugging_face);
    CHECK(spec.micro_batch == 4);
    CHECK(spec.arg_mappings.at("train_micro_batch_size_per_gpu") ==
          "--per_device_train_batch_size");
    // There or not: the Trainer's default would contradict what an experiment has.
    CHECK(spec.arg_mappings.at("gradient_accumulation_steps") == "--gradient_accumulation_steps");
  }
}

TEST_CASE("Hugging Face: what \"auto\" means comes from the flags, else from its defaults",
          "[input]") {
  const std::string config = R"({"train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto", "train_batch_size": "auto",
    "gradient_clipping": "auto", "fp16": {"enabled": "auto"}, "bf16": {"enabled": "auto"},
    "optimizer": {"type": "AdamW", "params": {"lr": "auto", "betas": "auto", "eps": "auto"}},
    "zero_optimization": {"stage": 2, "reduce_bucket_size": "auto"}})";
  const DeepSpeedSpec none = taken(config, R"("--output_dir", "out")");
  CHECK(none.micro_batch == 8);
  CHECK(none.gradient_accumulation == 1);
  CHECK(none.resolved_json ==
        R"({"bf16":{"enabled":false},"fp16":{"enabled":false},"gradient_accumulation_steps":1,)"
        R"("gradient_clipping":1.0,"optimizer":{"params":{"betas":[0.9,0.999],"eps":1e-08,)"
        R"("lr":5e-05},"type":"AdamW"},"train_batch_size":"auto",)"
        R"("train_micro_batch_size_per_gpu":8,"zero_optimization":{"reduce_bucket_size":"auto",)"
        R"("stage":2}})");
  const DeepSpeedSpec flags =
      taken(config, R"("--output-dir=out", "--per-device-train-batch-size", "2",
    "--per_device_train_batch_size=3", "--gradient_accumulation_steps=4", "--fp16",
    "--bf16", "False", "--learning-rate=2e-5")");
  CHECK(flags.micro_batch == 3);  // the last one wins
  CHECK(flags.gradient_accumulation == 4);
  CHECK(flags.resolved_json.find(R"("fp16":{"enabled":true})") != std::string::npos);
  CHECK(flags.resolved_json.find(R"("bf16":{"enabled":false})") != std::string::npos);
  CHECK(flags.resolved_json.find(R"("lr":2e-05)") != std::string::npos);
  // What the Trainer fills in stays as it is for it.
  CHECK(flags.config_json.find(R"("fp16":{"enabled":"auto"})") != std::string::npos);
}

TEST_CASE("Hugging Face: a spelling with dashes is kept", "[input]") {
  const DeepSpeedSpec spec = taken("{}", R"("--per-device-train-batch-size", "2")");
  CHECK(spec.arg_mappings.at("train_micro_batch_size_per_gpu") == "--per-device-train-batch-size");
  CHECK(spec.micro_batch == 2);
}

TEST_CASE("Hugging Face: a value that contradicts its flag is refused with both places",
          "[input]") {
  CHECK(message_of(with("{\n\"train_micro_batch_size_per_gpu\": 1}",
                        "\"--output_dir\", \"out\",\n\"--per_device_train_batch_size\", \"8\"")) ==
        "ds_config.json:2: train_micro_batch_size_per_gpu = 1 contradicts "
        "--per_device_train_batch_size 8 of trial.command (study.toml:7): the Hugging Face Trainer "
        "refuses to start with both; write \"auto\" here, or make them equal");
  const auto refused = [](const std::string& config, std::string_view flags) {
    return message_of(with(config, flags));
  };
  CHECK(refused(R"({"fp16": {"enabled": false}})", R"("--output_dir", "o", "--fp16")")
            .starts_with("ds_config.json:1: fp16.enabled = false contradicts --fp16 of trial"));
  CHECK(refused(R"({"optimizer": {"params": {"lr": 1e-4}}})",
                R"("--output_dir", "o", "--learning_rate=2e-5")")
            .find("optimizer.params.lr = 0.0001 contradicts --learning_rate 2e-5") !=
        std::string::npos);
  CHECK(refused(R"({"optimizer": {"params": {"betas": [0.9, 0.95]}}})",
                R"("--output_dir", "o", "--adam_beta2", "0.999")")
            .find("optimizer.params.betas = 0.95 contradicts --adam_beta2") != std::string::npos);
  CHECK(refused(R"({"gradient_clipping": 0.5})", R"("--output_dir", "o", "--max_grad_norm", "1")")
            .find("gradient_clipping = 0.5 contradicts --max_grad_norm 1") != std::string::npos);
  CHECK(refused(R"({"gradient_clipping": 1, "fp16": {"enabled": true}, "optimizer":
      {"params": {"weight_decay": 0.01}}, "scheduler": {"params": {"warmup_num_steps": 10}}})",
                R"("--output_dir", "o", "--max_grad_norm", "1.0", "--fp16", "--weight_decay",
      "1e-2", "--warmup_steps", "10")") == "accepted");
}

TEST_CASE("Hugging Face: a default that would be refused is told, not refused", "[input]") {
  const auto input = with(R"({"gradient_clipping": 0.5})", R"("--output_dir", "out")");
  REQUIRE(message_of(input) == "accepted");
  CHECK(std::ranges::any_of(input->spec.notes, [](const std::string& note) {
    return note.find("trial.command has no --max_grad_norm and its default is 1.0") !=
           std::string::npos;
  }));
}

TEST_CASE("Hugging Face: scripts that only share some flags are not taken for it", "[input]") {
  // --deepspeed is a switch there, as in DeepSpeed's own examples.
  const auto input = read_texts(
      deepspeed_study("", R"("main.py", "--per_device_train_batch_size", "8", "--deepspeed",
    "--deepspeed_config", "{ds_config}")"),
      std::string(R"({"train_micro_batch_size_per_gpu": 1})"));
  REQUIRE(message_of(input) == "accepted");
  CHECK_FALSE(input->spec.deepspeed->hugging_face);
  CHECK(input->spec.deepspeed->arg_mappings.empty());
}

TEST_CASE("Hugging Face: accelerate gives the Trainer its config in a variable", "[input]") {
  const auto under_accelerate = [](std::string_view flags) {
    return read_texts(
        deepspeed_study("[trial.env]\nACCELERATE_DEEPSPEED_CONFIG_FILE = \"{ds_config}\"\n",
                        R"("run.py", "--output_dir", "o", )" + std::string(flags)),
        std::string(R"({"train_micro_batch_size_per_gpu": 4})"));
  };
  const auto trainer =
      under_accelerate(R"("--per_device_train_batch_size", "4", "--save_strategy", "no")");
  REQUIRE(message_of(trainer) == "accepted");
  CHECK(trainer->spec.deepspeed->hugging_face);
  CHECK(trainer->spec.deepspeed->arg_mappings.contains("train_micro_batch_size_per_gpu"));
  // Nor is it said that the trial would not find its config.
  CHECK(std::ranges::none_of(trainer->spec.notes, [](const std::string& note) {
    return note.find("SLURMTUNE_DS_CONFIG") != std::string::npos;
  }));
  const auto refused =
      under_accelerate(R"("--per_device_train_batch_size", "2", "--save_strategy", "no")");
  CHECK(message_of(refused).find("contradicts --per_device_train_batch_size 2") !=
        std::string::npos);
  const auto own = under_accelerate(R"("--per_device_train_batch_size", "2")");
  REQUIRE(message_of(own) == "accepted");
  CHECK_FALSE(own->spec.deepspeed->hugging_face);
}

TEST_CASE("\"auto\" that nobody fills in is refused with its line", "[input]") {
  const std::string config =
      "{\"train_micro_batch_size_per_gpu\": \"auto\",\n"
      "\"pipeline\": {\"stages\": \"auto\"},\n"
      "\"gradient_clipping\": \"auto\"}";
  const auto own =
      read_texts(deepspeed_study("", R"("train.py", "--deepspeed_config", "{ds_config}")"), config);
  CHECK(message_of(own) ==
        "ds_config.json:3: gradient_clipping is \"auto\", which DeepSpeed itself cannot read, and "
        "trial.command is not one of the Hugging Face Trainer; write the value");
  const auto unknown = read_texts(deepspeed_study(), config);
  REQUIRE(message_of(unknown) == "accepted");
  CHECK(unknown->spec.notes ==
        std::vector<std::string>{
            "\"auto\" in ds_config.json is left to the trial: gradient_clipping"});
}
