// SPDX-License-Identifier: MIT
#include <string>

#include "tests/support/catch.hpp"
#include "tests/unit/input/study_texts.hpp"

using namespace slurmtune;

// deepspeed_study has 2 x 4 ranks.

namespace {

ParallelSpec parallel_of(const Expected<StudyInput>& input) {
  REQUIRE(message_of(input) == "accepted");
  return input->spec.parallel;
}

}  // namespace

TEST_CASE("[parallel]: what is left of the ranks is data-parallel", "[input]") {
  const auto input =
      read_texts(deepspeed_study("[parallel]\ntensor = 2\nsequence = 2\n"), std::string("{}"));
  CHECK(parallel_of(input).product() == 4);
  CHECK(input->spec.ranks() == 8);
  CHECK(input->spec.data_parallel() == 2);
  CHECK(input->spec.sharding_ranks() == 4);  // ranks of one sequence share the model's states, too
  const auto generic = read_texts(generic_study + "[parallel]\ntensor = 1\npipeline = 1\n");
  CHECK(parallel_of(generic).product() == 1);
}

TEST_CASE("[parallel]: what does not divide the ranks is refused with its line", "[input]") {
  CHECK(message_of(read_texts(deepspeed_study("[parallel]\ntensor = 3\n"), std::string("{}"))) ==
        "study.toml:9: 8 ranks cannot be divided by tensor 3 x pipeline 1 x sequence 1 = 3; lower "
        "them, or change trial.nodes x trial.processes_per_node");
  CHECK(message_of(read_texts(generic_study + "[parallel]\npipeline = 2\n"))
            .starts_with("study.toml:9: 1 ranks cannot be divided by"));
  CHECK(message_of(read_texts(deepspeed_study(), "{\"autotuning\": {\n\"mp_size\": 16}}"))
            .starts_with("ds_config.json:2: 8 ranks cannot be divided by tensor 16"));
}

TEST_CASE("[parallel]: each degree is read from the ds_config where it stands there", "[input]") {
  const std::string config = R"({"sequence_parallel_size": 2, "pipeline": {"stages": 2.0},
    "tensor_parallel": {"autotp_size": 2}, "autotuning": {"mp_size": 2}})";
  const ParallelSpec parallel = parallel_of(read_texts(deepspeed_study(), config));
  CHECK(parallel.tensor == 2);
  CHECK(parallel.pipeline == 2);
  CHECK(parallel.sequence == 2);
  const std::string nothing = R"({"pipeline": {"stages": "auto"}, "tensor_parallel": {
    "autotp_size": 0}, "autotuning": {"mp_size": 1}})";
  CHECK(parallel_of(read_texts(deepspeed_study(), nothing)).product() == 1);
}

TEST_CASE("[parallel]: two that contradict each other are refused with both places", "[input]") {
  const std::string config =
      "{\n\"tensor_parallel\": {\"autotp_size\": 2},\n"
      "\"autotuning\": {\"mp_size\": 4}}";
  CHECK(message_of(read_texts(deepspeed_study(), config)) ==
        "ds_config.json:3: autotuning.mp_size = 4 contradicts tensor_parallel.autotp_size = 2 of "
        "ds_config.json:2; correct one of them");
  CHECK(message_of(read_texts(deepspeed_study("[parallel]\nsequence = 2\n"),
                              "{\n\"sequence_parallel_size\": 4}")) ==
        "ds_config.json:2: sequence_parallel_size = 4 contradicts parallel.sequence = 2 of "
        "study.toml:10; correct one of them");
  CHECK(message_of(read_texts(deepspeed_study(), "{\n\"sequence_parallel_size\": -1}"))
            .starts_with("ds_config.json:2: sequence_parallel_size is -1"));
}

TEST_CASE("defect 20: the batch is divided among data-parallel ranks, once", "[input]") {
  // 8 ranks / tensor 4 = 2 data-parallel ones.
  const auto input =
      read_texts(deepspeed_study(), std::string(R"({"train_batch_size": 64, "autotuning":
      {"mp_size": 4}, "gradient_accumulation_steps": 4})"));
  REQUIRE(message_of(input) == "accepted");
  CHECK(input->spec.deepspeed->micro_batch == 8);
  CHECK(message_of(read_texts(deepspeed_study(),
                              "{\n\"train_batch_size\": 63, \"autotuning\": {\"mp_size\": 4}}")) ==
        "ds_config.json:2: the global batch 63 is not a multiple of the 2 data-parallel ranks "
        "(trial.nodes x trial.processes_per_node / [parallel]); write 62 or 64, or change the "
        "ranks");
}

TEST_CASE("[parallel]: a pipeline leaves ZeRO 2 and 3 out, and refuses them where they are given",
          "[input]") {
  const auto all = read_texts(deepspeed_study("[parallel]\npipeline = 2\n"), std::string("{}"));
  REQUIRE(message_of(all) == "accepted");
  CHECK(all->spec.deepspeed->zero_stages == std::vector<int>{0, 1});
  CHECK(message_of(read_texts(deepspeed_study("[parallel]\npipeline = 2\n"),
                              "{\"zero_optimization\":\n{\"stage\": [1, 2]}}"))
            .starts_with("ds_config.json:2: ZeRO 2 and 3 do not work with pipeline parallelism"));
}
