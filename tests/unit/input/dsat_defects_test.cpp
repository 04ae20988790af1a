// SPDX-License-Identifier: MIT
//
// Defects of DeepSpeed's own autotuner, by the numbers of docs/user/from-deepspeed-autotuner.md, as
// far as reading the user's input is concerned.
#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/catch.hpp"
#include "tests/unit/input/study_texts.hpp"

using namespace slurmtune;

namespace {

// deepspeed_study has 2 x 4 ranks.
StudySpec spec_of(const std::string& config, std::string_view rest = "",
                  std::string_view command = R"("train.py", "{ds_config}")") {
  const auto input = read_texts(deepspeed_study(rest, command), config);
  REQUIRE(message_of(input) == "accepted");
  return input->spec;
}

std::string message(const std::string& config) {
  return message_of(read_texts(deepspeed_study(), config));
}

bool says(const StudySpec& spec, std::string_view part) {
  return std::ranges::any_of(
      spec.notes, [part](const std::string& note) { return note.find(part) != std::string::npos; });
}

}  // namespace

TEST_CASE("defect 4: latency is minimised, and said to be", "[input]") {
  const StudySpec spec = spec_of(R"({"autotuning": {"metric": "latency"}})");
  CHECK(spec.objective.direction == Direction::minimize);
  CHECK(spec.objective.metric == "step_s");
  CHECK(says(spec, "metric = latency of ds_config.json:1: the step time, as small as possible"));
}

TEST_CASE("defect 5: FLOPS is a metric in every spelling, parts of a step are refused", "[input]") {
  for (const std::string name : {"FLOPS", "flops", "FLOPS_per_gpu"}) {
    const StudySpec spec = spec_of(R"({"autotuning": {"metric": ")" + name + "\"}}");
    CHECK(spec.objective.metric == "flops_per_gpu");
    CHECK(spec.objective.direction == Direction::maximize);
  }
  for (const std::string name : {"forward", "backward", "step"}) {
    CHECK(message("{\"autotuning\": {\n\"metric\": \"" + name + "\"}}") ==
          "ds_config.json:2: the metric \"" + name +
              "\" times a part of a step, and only whole steps can be compared; write \"latency\" "
              "or \"throughput\"");
  }
}

TEST_CASE("defect 14: overwrite and the directories delete nothing, and a note says so",
          "[input]") {
  const StudySpec spec = spec_of(R"({"autotuning": {"overwrite": true, "exps_dir": "/data"}})");
  CHECK(says(spec, "overwrite (nothing is ever deleted)"));
  CHECK(says(spec, "exps_dir (experiments are in the study's directory)"));
  CHECK_FALSE(says(spec_of(R"({"autotuning": {"overwrite": false}})"), "overwrite"));
}

TEST_CASE("defect 16: model_info needs none of its keys", "[input]") {
  const StudySpec whole = spec_of(R"({"autotuning": {"model_info": {"num_params": 7e8,
      "hidden_size": 1280, "num_layers": 36, "activation_mem_per_gpu": 0}}})");
  CHECK(whole.model.params == 7e8);
  CHECK(whole.model.hidden == 1280.0);
  CHECK(whole.model.layers == 36.0);
  CHECK(says(whole, "activation_mem_per_gpu (peaks are measured)"));
  const StudySpec profile = spec_of(R"({"autotuning": {"model_info": {"profile": true}}})");
  CHECK_FALSE(profile.model.params.has_value());
  CHECK(message("{\"autotuning\": {\"model_info\": {\n\"num_parms\": 5}}}") ==
        "ds_config.json:2: unknown key \"num_parms\" in \"autotuning.model_info\"; did you mean "
        "\"num_params\"?");
}

TEST_CASE("defect 18: bounds that leave no micro-batch are refused, none is below 1", "[input]") {
  CHECK(
      message("{\"autotuning\": {\"max_train_micro_batch_size_per_gpu\": 4,\n"
              "\"min_train_micro_batch_size_per_gpu\": 8}}") ==
      "ds_config.json:2: min_train_micro_batch_size_per_gpu = 8 is more than what is possible, 4; "
      "lower it");
  CHECK(message("{\"train_batch_size\": 64, \"autotuning\": {\n\"min_train_batch_size\": 65}}") ==
        "ds_config.json:2: min_train_batch_size = 65 is more than what is possible, 64; lower it");
  CHECK(spec_of(R"({"autotuning": {"min_train_micro_batch_size_per_gpu": 0}})")
            .batch.micro_batch_floor == 1);
  // 8 ranks x 2: 100 samples need 7 a rank.
  CHECK(
      spec_of(R"({"gradient_accumulation_steps": 2, "autotuning": {"min_train_batch_size": 100}})")
          .batch.micro_batch_floor == 7);
}

TEST_CASE("defect 21: mapped flags are found with spaces in the mapping and in every spelling",
          "[input]") {
  const std::string config = R"({"train_micro_batch_size_per_gpu": "auto",
    "gradient_accumulation_steps": "auto", "autotuning": {"arg_mappings": {
      "train_micro_batch_size_per_gpu": " --mbs", "gradient_accumulation_steps ": "--gas "}}})";
  const StudySpec spec = spec_of(config, "", R"("t.py", "{ds_config}", "--gas=4", "--mbs", "2")");
  CHECK(spec.deepspeed->micro_batch == 2);
  CHECK(spec.deepspeed->gradient_accumulation == 4);
  const StudySpec last =
      spec_of(config, "", R"("t.py", "{ds_config}", "--gas=4", "--gas", "8", "--mbs=1")");
  CHECK(last.deepspeed->gradient_accumulation == 8);
  // Without an "auto" the config counts, and the flag follows.
  const StudySpec both = spec_of(R"({"gradient_accumulation_steps": 2, "autotuning":
      {"arg_mappings": {"gradient_accumulation_steps": "--gas"}}})",
                                 "", R"("t.py", "{ds_config}", "--gas", "4")");
  CHECK(both.deepspeed->gradient_accumulation == 2);
  CHECK(says(both,
             "gradient_accumulation_steps = 2 of ds_config.json:1 is the user's own, not "
             "--gas 4 of trial.command"));
}

TEST_CASE("defect 24: a given global batch is constant for all candidates", "[input]") {
  const StudySpec spec = spec_of(R"({"train_batch_size": 32.0})");
  CHECK(spec.batch.global == 32);
  CHECK(spec_of(R"({"autotuning": {"max_train_batch_size": 100}})").batch.max_global == 100);
  const StudySpec neither = spec_of(R"({"gradient_accumulation_steps": 3})");
  CHECK_FALSE(neither.batch.global.has_value());
  CHECK(neither.deepspeed->gradient_accumulation == 3);
}

TEST_CASE("defect 36: what the documents say wrongly does not matter, or is told", "[input]") {
  // The default of overwrite and tuner_type moves nothing here; the stage's does.
  const StudySpec spec = spec_of(R"({"autotuning": {"enabled": true}})");
  CHECK(spec.deepspeed->zero_stages == std::vector<int>{0, 1, 2, 3});
  CHECK(spec.notes.size() == 1);
  CHECK(says(spec, "gives no zero_optimization.stage: all are tried"));
  CHECK(message("{\"autotuning\": {\n\"tuner_type\": \"gridserach\"}}") ==
        "ds_config.json:2: autotuning.tuner_type cannot be \"gridserach\"; did you mean "
        "\"gridsearch\"?");
}

TEST_CASE("autotuning: the tuner's limits are those of the knobs stage", "[input]") {
  const std::string config =
      R"({"autotuning": {"tuner_num_trials": 30, "tuner_early_stopping": 5}})";
  CHECK(spec_of(config).search.knob_experiments == 30);
  CHECK(spec_of(config).search.knob_patience == 5);
  const StudySpec ours = spec_of(config, "[search]\nknob_experiments = 7\nknob_patience = 5\n");
  CHECK(ours.search.knob_experiments == 7);
  CHECK(says(ours, "search.knob_experiments = 7 of study.toml is used, not tuner_num_trials = 30"));
  CHECK_FALSE(says(ours, "knob_patience"));
}

TEST_CASE("autotuning: a micro-batch that is a number is fixed, a list is exactly that",
          "[input]") {
  const StudySpec number = spec_of("{\n\"train_micro_batch_size_per_gpu\": 4}");
  CHECK(number.batch.micro_batches == std::vector<std::int64_t>{4});
  CHECK(says(number,
             "the micro-batch is fixed: train_micro_batch_size_per_gpu = 4 of "
             "ds_config.json:2"));
  const StudySpec tuned =
      spec_of("{\n\"train_micro_batch_size_per_gpu\": 4}", "[batch]\nmicro_batch = \"auto\"\n");
  CHECK(tuned.batch.micro_batches.empty());
  CHECK(tuned.deepspeed->micro_batch == 4);
  CHECK(tuned.notes.empty());
}

TEST_CASE("autotuning: integers may be written as floats, and in quotes with a note", "[input]") {
  const StudySpec spec = spec_of(R"({"train_micro_batch_size_per_gpu": "8",
    "zero_optimization": {"stage": "2"}, "gradient_accumulation_steps": 2.0,
    "autotuning": {"max_train_batch_size": "512"}})");
  CHECK(spec.deepspeed->micro_batch == 8);
  CHECK(spec.deepspeed->zero_stages == std::vector<int>{2});
  CHECK(spec.deepspeed->gradient_accumulation == 2);
  CHECK(spec.batch.max_global == 512);
  CHECK(says(spec,
             "ds_config.json:1: train_micro_batch_size_per_gpu is the text \"8\", and is read "
             "as 8; DeepSpeed itself refuses it: take the quotes away"));
  CHECK(spec.deepspeed->config_json.find("\"stage\":2") != std::string::npos);
  CHECK(message("{\n\"train_batch_size\": \"8.0\"}").starts_with("ds_config.json:2: train_batch"));
  CHECK(message("{\n\"train_batch_size\": 8.5}").starts_with("ds_config.json:2: train_batch_size"));
  CHECK(message("{\"autotuning\": {\n\"tuner_num_trials\": -1}}")
            .starts_with("ds_config.json:2: autotuning.tuner_num_trials is -1"));
}

TEST_CASE("ds_config: what is no JSON is named with its line and what to do", "[input]") {
  CHECK(message("{\n  // stage\n  \"zero_optimization\": {\"stage\": 2}}") ==
        "ds_config.json:2: this is not JSON: a comment, which JSON does not have (DeepSpeed would "
        "read it, the Hugging Face Trainer would not); remove it");
  CHECK(
      message("{\"a\": \"http://x#y\", # why\n\"b\": 1}").starts_with("ds_config.json:1: this is"));
  CHECK(message("{\"a\": 1,\n\"b\": [1, 2],\n}") ==
        "ds_config.json:2: this is not JSON: a comma that nothing follows; remove it");
  CHECK(message("\xef\xbb\xbf{}") ==
        "ds_config.json:1: the file begins with a byte order mark; save it as UTF-8 without one");
  CHECK(
      message("{\"a\": 1,\n\"a\": 2}").starts_with("ds_config.json:2: the key \"a\" stands here"));
  CHECK(message("{\"url\": \"http://x\", \"b\": }").find("comment") == std::string::npos);
}
