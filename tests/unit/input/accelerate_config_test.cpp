// SPDX-License-Identifier: MIT
#include "slurmtune/input/accelerate_config.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/input/launch_texts.hpp"

using namespace slurmtune;
using Catch::Matchers::Contains;

namespace {

/// As `accelerate config` writes it.
constexpr const char* written = R"(compute_environment: LOCAL_MACHINE
debug: false
deepspeed_config:
  deepspeed_config_file: conf/ds.json
  zero3_init_flag: true   # for large models
distributed_type: DEEPSPEED
downcast_bf16: 'no'
enable_cpu_affinity: false
fsdp_config: {}
machine_rank: 0
main_training_function: main
mixed_precision: bf16
num_machines: 2
num_processes: 16
tpu_env: []
same_network: true
)";

LaunchLine line_with(std::string_view text, const std::string& flags = "") {
  LaunchLine line = parsed("accelerate launch " + flags + " train.py");
  const auto applied = apply_accelerate_config({"acc.yaml", std::string(text)}, line);
  if (!applied) FAIL(applied.error().message);
  return line;
}

std::string error_of(std::string_view text) {
  LaunchLine line = parsed("accelerate launch train.py");
  const auto applied = apply_accelerate_config({"acc.yaml", std::string(text)}, line);
  REQUIRE_FALSE(applied);
  return applied.error().message;
}

}  // namespace

TEST_CASE("accelerate's config file gives what the flags leave open", "[input]") {
  const LaunchLine line = line_with(written);
  CHECK(line.nodes->value == 2);
  CHECK(line.processes->value == 16);
  CHECK(line.processes->from == "num_processes of acc.yaml");
  CHECK(line.ds_config == "conf/ds.json");
  CHECK(line.env.at("ACCELERATE_MIXED_PRECISION") == "bf16");
  CHECK(line.env.at("ACCELERATE_DEEPSPEED_ZERO3_INIT") == "true");
  const LaunchLine flags = line_with(
      written, "--num_processes 4 --mixed_precision fp16 --deepspeed_config_file other.json");
  CHECK(flags.processes->value == 4);
  CHECK(flags.ds_config == "other.json");
  CHECK(flags.env.at("ACCELERATE_MIXED_PRECISION") == "fp16");
}

TEST_CASE("accelerate's config file: DeepSpeed's keys need a file of their own", "[input]") {
  CHECK(error_of("deepspeed_config:\n  gradient_accumulation_steps: 4\n  zero_stage: 2\n"
                 "  offload_param_device: none\nmixed_precision: bf16\n") ==
        "acc.yaml:3: the keys of DeepSpeed stand here, and each experiment has a DeepSpeed config "
        "of its own; write them into a file, ds_config.json: "
        "{\"train_micro_batch_size_per_gpu\":\"auto\",\"zero_optimization\":{\"stage\":2},"
        "\"gradient_accumulation_steps\":4,\"bf16\":{\"enabled\":true}} and name that: "
        "deepspeed_config_file: ds_config.json");
}

TEST_CASE("accelerate's config file: what cannot be meant is named by its line", "[input]") {
  CHECK_THAT(error_of("debug: false\nnum_processes: four\n"),
             Contains("acc.yaml:2: num_processes is four"));
  CHECK_THAT(error_of("distributed_type: FSDP\n"),
             Contains("acc.yaml:1: distributed_type is FSDP"));
  CHECK_THAT(error_of("gpu_ids: '0,1'\n"), Contains("acc.yaml:1: gpu_ids is 0,1"));
  CHECK_THAT(error_of("{\"num_processes\": 4}\n"),
             Contains("acc.yaml:1:") && Contains("key: value"));
  CHECK_THAT(error_of("a: 1\n\tb: 2\n"), Contains("acc.yaml:2:"));
}
