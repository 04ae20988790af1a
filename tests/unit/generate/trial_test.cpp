// SPDX-License-Identifier: MIT
#include "slurmtune/generate/trial.hpp"

#include <nlohmann/json.hpp>

#include "tests/support/catch.hpp"

using namespace slurmtune;
using Argv = std::vector<std::string>;
using Catch::Matchers::Contains;

namespace {

StudySpec deepspeed_study() {
  StudySpec spec;
  spec.trial.nodes = 2;
  spec.trial.processes_per_node = 4;
  spec.trial.command = {"python3", "train.py", "--deepspeed", "{ds_config}"};
  DeepSpeedSpec user;
  user.config_path = "ds_config.json";
  user.config_json =
      R"({"fp16":{"enabled":true},"gradient_accumulation_steps":2,"steps_per_print":100,)"
      R"("train_batch_size":64,"train_micro_batch_size_per_gpu":"auto",)"
      R"("zero_optimization":{"reduce_bucket_size":12345,"stage":0}})";
  user.zero_stages = {0, 1, 2, 3};
  user.micro_batch = 4;
  user.gradient_accumulation = 2;
  spec.deepspeed = user;
  return spec;
}

Configuration point(std::int64_t stage, std::int64_t micro, std::int64_t accumulation) {
  return {{{"zero_stage", stage}, {"micro_batch", micro}, {"gradient_accumulation", accumulation}}};
}

TrialPlace somewhere() {
  return {.work = "/study/work/e1",
          .ds_config = "/study/work/e1/ds_config.json",
          .workdir = "/home/user",
          .nodes = 2,
          .processes = 8,
          .master_addr = "n1",
          .master_port = 29511};
}

ParameterSpec parameter(std::string name, std::string target) {
  ParameterSpec spec;
  spec.name = std::move(name);
  spec.target = std::move(target);
  spec.line = 12;
  return spec;
}

Json ds_config_of(const StudySpec& spec, const Configuration& configuration,
                  DsConfigUse use = DsConfigUse::experiment) {
  const auto text = render_ds_config(spec, configuration, use);
  REQUIRE(text);
  return Json::parse(*text);
}

Argv argv_of(const StudySpec& spec, const Configuration& configuration) {
  const auto trial = render_trial(spec, configuration, somewhere());
  if (!trial) FAIL(trial.error().message);
  return trial->argv;
}

std::string error_of(const StudySpec& spec, const Configuration& configuration) {
  const auto trial = render_trial(spec, configuration, somewhere());
  REQUIRE_FALSE(trial);
  CHECK(trial.error().kind == ErrorKind::invalid_input);
  return trial.error().message;
}

}  // namespace

TEST_CASE("render_ds_config: two keys of the batch triple are written, never three", "[generate]") {
  const Json config = ds_config_of(deepspeed_study(), point(1, 3, 5));
  CHECK(config["train_micro_batch_size_per_gpu"] == 3);
  CHECK(config["gradient_accumulation_steps"] == 5);
  CHECK_FALSE(config.contains("train_batch_size"));
}

TEST_CASE("render_ds_config: what the user wrote stays, the stage is the configuration's",
          "[generate]") {
  const Json config = ds_config_of(deepspeed_study(), point(2, 3, 5));
  CHECK(config["fp16"]["enabled"] == true);
  CHECK(config["zero_optimization"]["stage"] == 2);
  CHECK(config["zero_optimization"]["reduce_bucket_size"] == 12345);
}

TEST_CASE("render_ds_config: every step is printed in an experiment, not in production",
          "[generate]") {
  const StudySpec spec = deepspeed_study();
  CHECK(ds_config_of(spec, point(1, 3, 5))["steps_per_print"] == 1);
  CHECK(ds_config_of(spec, point(1, 3, 5), DsConfigUse::production)["steps_per_print"] == 100);
}

TEST_CASE("render_ds_config: json targets and template values go to their dotted paths",
          "[generate]") {
  StudySpec spec = deepspeed_study();
  spec.parameters = {parameter("bucket", "json:zero_optimization.allgather_bucket_size"),
                     parameter("checkpoint", "json:activation_checkpointing.partition")};
  Configuration configuration = point(3, 1, 1);
  configuration.values["bucket"] = std::int64_t{1000};
  configuration.values["checkpoint"] = true;
  configuration.values["zero_optimization.reduce_bucket_size"] = std::int64_t{777};
  const Json config = ds_config_of(spec, configuration);
  CHECK(config["zero_optimization"]["allgather_bucket_size"] == 1000);
  CHECK(config["activation_checkpointing"]["partition"] == true);
  CHECK(config["zero_optimization"]["reduce_bucket_size"] == 777);
}

TEST_CASE("render_ds_config: a knob that is null is left to DeepSpeed, which refuses a null",
          "[generate]") {
  StudySpec spec = deepspeed_study();
  spec.deepspeed->config_json =
      R"({"amp":null,"zero_optimization":{"contiguous_gradients":null,"overlap_comm":[true,false],)"
      R"("reduce_bucket_size":null,"stage":0}})";
  for (const DsConfigUse use : {DsConfigUse::experiment, DsConfigUse::production}) {
    const Json config = ds_config_of(spec, point(2, 1, 1), use);
    CHECK(config["zero_optimization"] == Json({{"overlap_comm", true}, {"stage", 2}}));
    CHECK(config["amp"].is_null());  // no knob
  }
  Configuration tried = point(2, 1, 1);
  tried.values["zero_optimization.reduce_bucket_size"] = std::int64_t{1000};
  CHECK(ds_config_of(spec, tried)["zero_optimization"]["reduce_bucket_size"] == 1000);
}

TEST_CASE("render_ds_config: a path through what is no object is refused", "[generate]") {
  StudySpec spec = deepspeed_study();
  spec.parameters = {parameter("bad", "json:gradient_accumulation_steps.inner")};
  Configuration configuration = point(1, 1, 1);
  configuration.values["bad"] = std::int64_t{1};
  const auto text = render_ds_config(spec, configuration);
  REQUIRE_FALSE(text);
  CHECK_THAT(text.error().message, Contains("'bad'") && Contains("not an object"));
}

TEST_CASE("render_ds_config: a study without [deepspeed] has none", "[generate]") {
  const auto text = render_ds_config(StudySpec{}, Configuration{});
  REQUIRE_FALSE(text);
  CHECK_THAT(text.error().message, Contains("[deepspeed]"));
}

TEST_CASE("render_trial: placeholders are filled in command, container and environment",
          "[generate]") {
  StudySpec spec = deepspeed_study();
  spec.trial.command = {"train", "{ds_config}", "{{\"lr\": {p:lr}}", "{master_addr}:{master_port}"};
  spec.trial.container = {"apptainer", "exec", "--bind", "{work}"};
  spec.trial.env = {{"WORLD", "{nodes}x{processes}"}};
  spec.parameters = {parameter("lr", "")};
  Configuration configuration = point(1, 2, 3);
  configuration.values["lr"] = 0.5;
  const auto trial = render_trial(spec, configuration, somewhere());
  REQUIRE(trial);
  CHECK(trial->argv == Argv{"apptainer", "exec", "--bind", "/study/work/e1", "train",
                            "/study/work/e1/ds_config.json", "{\"lr\": 0.5}", "n1:29511"});
  CHECK(trial->env == std::map<std::string, std::string>{{"WORLD", "2x8"}});
  CHECK(trial->files.at("ds_config.json") == *render_ds_config(spec, configuration));
}

TEST_CASE("render_trial: experiments get trial_args, the winner's command does not", "[generate]") {
  StudySpec spec = deepspeed_study();
  spec.trial.trial_args = {"--max_steps", "1000", "--output_dir", "{work}/output"};
  const Argv user{"python3", "train.py", "--deepspeed", "/study/work/e1/ds_config.json"};
  Argv longer = user;
  longer.insert(longer.end(), {"--max_steps", "1000", "--output_dir", "/study/work/e1/output"});
  CHECK(argv_of(spec, point(1, 4, 2)) == longer);
  TrialPlace place = somewhere();
  place.use = TrialUse::production;
  const auto trial = render_trial(spec, point(1, 4, 2), place);
  REQUIRE(trial);
  CHECK(trial->argv == user);
}

TEST_CASE("render_trial: a rank's place on its node is left to what starts the rank",
          "[generate]") {
  StudySpec spec = deepspeed_study();
  spec.trial.command.insert(spec.trial.command.begin() + 2, "--local_rank={local_rank}");
  CHECK(argv_of(spec, point(1, 4, 2))[2] == "--local_rank={local_rank}");
  spec.trial.env["PLACE"] = "{local_rank}";
  CHECK_THAT(error_of(spec, point(1, 4, 2)), Contains("unknown placeholder {local_rank}"));
}

TEST_CASE("render_trial: an unknown placeholder is refused, with the nearest", "[generate]") {
  StudySpec spec = deepspeed_study();
  spec.trial.command = {"train", "{ds_confg}"};
  CHECK_THAT(error_of(spec, point(1, 1, 1)), Contains("{ds_confg}") && Contains("{ds_config}"));
  spec.trial.command = {"train", "{ds_config"};
  CHECK_THAT(error_of(spec, point(1, 1, 1)), Contains("a brace is open"));
  spec.deepspeed.reset();
  spec.trial.command = {"train", "{ds_config}"};
  CHECK_THAT(error_of(spec, Configuration{}), Contains("[deepspeed]"));
}

TEST_CASE("render_trial: a conditional parameter without a value fills no placeholder",
          "[generate]") {
  StudySpec spec;
  spec.trial.command = {"train", "{p:depth}"};
  spec.parameters = {parameter("depth", "")};
  CHECK_THAT(error_of(spec, Configuration{}),
             Contains("study.toml:12: parameter 'depth'") && Contains("when"));
}

TEST_CASE("render_trial: the file after --deepspeed_config or --deepspeed is replaced",
          "[generate]") {
  StudySpec spec = deepspeed_study();
  const std::string path = somewhere().ds_config;
  const Configuration any = point(1, 1, 1);

  spec.trial.command = {"train", "--deepspeed", "--deepspeed_config", "ds.json", "--fp16"};
  CHECK(argv_of(spec, any) == Argv{"train", "--deepspeed", "--deepspeed_config", path, "--fp16"});
  spec.trial.command = {"train", "--deepspeed_config=ds.json"};
  CHECK(argv_of(spec, any) == Argv{"train", "--deepspeed_config=" + path});
  spec.trial.command = {"train", "--deepspeed", "ds.json"};
  CHECK(argv_of(spec, any) == Argv{"train", "--deepspeed", path});
  spec.trial.command = {"train", "--deepspeed=ds.json"};
  CHECK(argv_of(spec, any) == Argv{"train", "--deepspeed=" + path});
}

TEST_CASE("render_trial: a command that is not told its ds_config is refused", "[generate]") {
  StudySpec spec = deepspeed_study();
  spec.trial.command = {"train", "--deepspeed", "--fp16"};
  CHECK_THAT(error_of(spec, point(1, 1, 1)),
             Contains("trial.command") && Contains("write {ds_config}"));
  spec.trial.env = {{"DS_CONFIG", "{ds_config}"}};
  CHECK(argv_of(spec, point(1, 1, 1)) == Argv{"train", "--deepspeed", "--fp16"});
}

TEST_CASE("render_trial: arg_mappings replace both spellings of a flag, or append", "[generate]") {
  StudySpec spec = deepspeed_study();
  spec.trial.command = {"train", "{ds_config}", "--mbs", "8", "--gas=1"};
  spec.deepspeed->arg_mappings = {{"train_micro_batch_size_per_gpu", "--mbs"},
                                  {"gradient_accumulation_steps", "--gas"},
                                  {"train_batch_size", "--global"},
                                  {"fp16.enabled", "--fp16"},
                                  {"scheduler.type", "--scheduler"}};
  CHECK(argv_of(spec, point(1, 3, 5)) ==
        Argv{"train", somewhere().ds_config, "--mbs", "3", "--gas=5", "--fp16", "--global", "120"});
}

TEST_CASE("render_trial: arg_mappings find a nested key by its name", "[generate]") {
  StudySpec spec = deepspeed_study();
  spec.trial.command = {"train", "{ds_config}"};
  spec.deepspeed->arg_mappings = {{"reduce_bucket_size", "--bucket"}};
  CHECK(argv_of(spec, point(1, 3, 5)) == Argv{"train", somewhere().ds_config, "--bucket", "12345"});
}

TEST_CASE("render_trial: arg targets replace, append, and keep negative numbers apart from flags",
          "[generate]") {
  StudySpec spec;
  spec.trial.command = {"train", "--lr", "-1", "--seed", "--last"};
  spec.parameters = {parameter("lr", "arg:--lr"), parameter("seed", "arg:--seed"),
                     parameter("threads", "env:OMP_NUM_THREADS"), parameter("new", "arg:--new")};
  Configuration configuration;
  configuration.values = {{"lr", 0.25},
                          {"seed", std::int64_t{7}},
                          {"threads", std::int64_t{4}},
                          {"new", std::string("a b")}};
  const auto trial = render_trial(spec, configuration, somewhere());
  REQUIRE(trial);
  CHECK(trial->argv == Argv{"train", "--lr", "0.25", "--seed", "7", "--last", "--new", "a b"});
  CHECK(trial->env.at("OMP_NUM_THREADS") == "4");
  CHECK(trial->files.empty());
}

TEST_CASE("render_trial: a boolean arg is a flag that is there or not", "[generate]") {
  StudySpec spec;
  spec.trial.command = {"train", "--fuse", "true", "in.txt"};
  spec.parameters = {parameter("fuse", "arg:--fuse")};
  Configuration configuration;
  configuration.values["fuse"] = true;
  CHECK(argv_of(spec, configuration) == Argv{"train", "in.txt", "--fuse"});
  configuration.values["fuse"] = false;
  CHECK(argv_of(spec, configuration) == Argv{"train", "in.txt"});
}

TEST_CASE("render_trial: a parameter that has no value in a configuration leaves the command",
          "[generate]") {
  StudySpec spec;
  spec.trial.command = {"train", "--depth", "3"};
  spec.parameters = {parameter("depth", "arg:--depth")};
  CHECK(argv_of(spec, Configuration{}) == Argv{"train", "--depth", "3"});
}

TEST_CASE("render_trial: targets that cannot be reached are refused with their line",
          "[generate]") {
  StudySpec spec;
  spec.trial.command = {"train"};
  spec.parameters = {parameter("x", "json:optimizer.params.lr")};
  CHECK_THAT(error_of(spec, Configuration{}),
             Contains("study.toml:12: ") && Contains("[deepspeed]"));
  spec.parameters = {parameter("x", "file:conf.yaml#{x}")};
  CHECK_THAT(error_of(spec, Configuration{}),
             Contains("study.toml:12: ") && Contains("not supported by this version yet"));
  spec.parameters = {parameter("x", "--x")};
  CHECK_THAT(error_of(spec, Configuration{}),
             Contains("study.toml:12: ") && Contains("arg:--flag"));
}
