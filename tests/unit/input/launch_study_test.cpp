// SPDX-License-Identifier: MIT
#include "slurmtune/input/launch_study.hpp"

#include <map>

#include "slurmtune/input/study_input.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/input/launch_texts.hpp"

using namespace slurmtune;
using Catch::Matchers::Contains;

namespace {

/// `nodes x processes`, or the error.
std::string resources(std::string_view text, const LaunchPlace& place = {}) {
  const auto found = launch_resources(parsed(text), place);
  if (!found) return found.error().message;
  std::string result =
      std::to_string(found->nodes) + "x" + std::to_string(found->processes_per_node);
  return found->devices.empty() ? result : result + " on " + found->devices;
}

LaunchPlace with_hosts(std::string text) {
  LaunchPlace place;
  place.hostfile = SourceText{"hosts", std::move(text)};
  return place;
}

LaunchStudy study_of(std::string_view text, StudyMode mode = StudyMode::tune) {
  const LaunchLine line = parsed(text);
  const auto found = launch_resources(line, {});
  REQUIRE(found);
  LaunchStudyRequest request;
  request.argv = words_of(text);
  request.mode = mode;
  auto study = launch_study(line, *found, request);
  if (!study) FAIL(study.error().message);
  return *study;
}

StudyInput read(const LaunchStudy& study,
                std::string ds_config = R"({"train_micro_batch_size_per_gpu": "auto"})") {
  StudySources sources;
  sources.study = {"study.toml", study.text};
  sources.ds_config = SourceText{"ds.json", std::move(ds_config)};
  sources.site = {"site.toml", "format = 1\nname = \"generic\"\n"};
  auto input = read_study(sources);
  INFO(study.text);
  if (!input) FAIL(input.error().message);
  return *input;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : " ") + word;
  return text;
}

}  // namespace

TEST_CASE("launch_resources: counts, hostfile and filters become nodes and processes", "[input]") {
  const LaunchPlace hosts = with_hosts("# two\nw1 slots=8  # big\n\nw2 slots=4\n");
  CHECK(resources("deepspeed -H hosts train.py", hosts) == "2x4");
  CHECK(resources("deepspeed -H hosts --num_nodes 1 --num_gpus 3 train.py", hosts) == "1x3");
  CHECK(resources("deepspeed -H hosts --include w1:0,2,5 train.py", hosts) == "1x3");
  CHECK(resources("deepspeed -H hosts --include w1@w2:1 train.py", hosts) == "2x1");
  CHECK(resources("deepspeed -H hosts --exclude w2 train.py", hosts) == "1x8");
  CHECK(resources("deepspeed -H hosts --exclude w1:0,1,2,3@w2:0 train.py", hosts) == "2x3");
  CHECK(resources("deepspeed --include localhost:1,3 train.py") == "1x2 on 1,3");
  CHECK(resources("deepspeed --include localhost:1,1 train.py") == "1x1 on 1");
  CHECK(resources("deepspeed --include n1:0,1@n2:0,1 train.py") == "2x2");
  CHECK(resources("accelerate launch --num_processes 16 --num_machines 2 train.py") == "2x8");
  CHECK(resources("torchrun --nnodes 2 --nproc_per_node 4 train.py") == "2x4");
  CHECK(resources("mpirun -np 8 -N 4 ./train") == "2x4");
  CHECK(resources("srun -N 2 -n 8 ./train") == "2x4");
}

TEST_CASE("launch_resources: hosts of mpirun are filled slot by slot", "[input]") {
  CHECK(resources("mpirun --host a:2,b:2 ./train") == "2x2");
  CHECK(resources("mpirun -H a,a,b,b ./train") == "2x2");
  CHECK(resources("mpirun -host a:2 --host b:2 -np 4 ./train") == "2x2");
  CHECK(resources("mpirun --host a:2,b:2 -np 2 ./train") == "1x2");
  CHECK(resources("mpirun --host a:2,b:2 --map-by node -np 2 ./train") == "2x1");
  CHECK(resources("mpirun --host a:2,b:4 ./train") == "2x2");
  CHECK(resources("mpiexec -hosts a,b -ppn 4 -n 8 ./train") == "2x4");
  CHECK(resources("mpirun --hostfile hosts ./train",
                  with_hosts("a slots=2 max_slots=4\nb:2  # c\n")) == "2x2");
  CHECK(resources("mpirun --hostfile hosts -np 8 ./train", with_hosts("a\nb\n")) == "2x4");
  CHECK_THAT(resources("mpirun --hostfile hosts ./train", with_hosts("a slots=two\n")),
             Contains("hosts:1: \"a slots=two\" is not a host and its number of slots"));
  CHECK_THAT(resources("mpirun --host a:x ./train"), Contains("'a:x' is not a host"));
  CHECK_THAT(resources("mpirun --host a:3,b:3 -np 5 ./train"),
             Contains("cannot be divided evenly"));
}

TEST_CASE("launch_resources: hostfiles and filters that cannot be meant are refused", "[input]") {
  const auto error = [](const std::string& text, const std::string& filter = "") {
    return resources("deepspeed -H hosts " + filter + " train.py", with_hosts(text));
  };
  CHECK(error("w1 slots=4\nw1 slots=4\n") ==
        "hosts:2: w1 stands here a second time (first in line 1); remove one of them");
  CHECK_THAT(error("w1 slots=4\nw2\n"), Contains("hosts:2: \"w2\" is not a host and its number"));
  CHECK_THAT(error("w1 slots=0\n"), Contains("hosts:1:"));
  CHECK_THAT(error("# nobody\n"), Contains("it names no host"));
  CHECK_THAT(error("w1 slots=2\n", "--include w2"), Contains("w2 is not in hosts"));
  CHECK_THAT(error("w1 slots=2\n", "--include w1:2"), Contains("there is no slot 2"));
  CHECK_THAT(error("w1 slots=2\n", "--include w1:x"), Contains("'x' is no slot"));
  CHECK_THAT(error("w1 slots=2\n", "--exclude w1"), Contains("no host is left"));
  CHECK_THAT(error("w1 slots=2\n", "--include w1@w1"), Contains("stands there twice"));
  CHECK_THAT(error("w1 slots=2\n", "--num_nodes 2"), Contains("--num_nodes 2, but hosts has 1"));
  CHECK_THAT(resources("deepspeed -i a -e b train.py"), Contains("exclude each other"));
  CHECK_THAT(resources("deepspeed -i a --num_gpus 2 train.py"), Contains("exclude each other"));
  CHECK_THAT(resources("deepspeed -e a train.py"), Contains("no hostfile to exclude from"));
  CHECK_THAT(resources("accelerate launch --num_processes 3 --num_machines 2 train.py"),
             Contains("cannot be divided evenly"));
}

TEST_CASE("launch_resources: where the line says nothing, the place does", "[input]") {
  LaunchPlace place;
  CHECK(resources("deepspeed train.py", place) == "1x1");
  place.gpus_here = 2;
  CHECK(resources("deepspeed train.py", place) == "1x2");
  CHECK(resources("torchrun train.py", place) == "1x1");
  CHECK(resources("torchrun --nproc_per_node gpu train.py", place) == "1x2");
  CHECK(resources("python train.py", place) == "1x1");
  place.site_gpus_per_node = 4;
  CHECK(resources("deepspeed train.py", place) == "1x4");
  CHECK(resources("deepspeed --num_nodes 3 train.py", place) == "3x4");
  place.held_nodes = 2;
  place.held_gpus_per_node = 8;
  CHECK(resources("deepspeed train.py", place) == "2x8");
  CHECK(resources("deepspeed --num_gpus 2 train.py", place) == "1x2");
  place.visible_devices = "0,1,5";
  CHECK(resources("deepspeed --num_nodes 1 train.py", place) == "1x3");
  const auto assumed = launch_resources(parsed("deepspeed train.py"), {});
  REQUIRE(assumed);
  CHECK_THAT(joined(assumed->notes), Contains("one process on each node is assumed"));
}

TEST_CASE("launch_study: the article's line becomes a study that is valid", "[input]") {
  const LaunchStudy made = study_of(
      "deepspeed --autotuning run --num_nodes=2 --num_gpus=8 /hf/run_clm.py --deepspeed ds.json "
      "--model_name_or_path gpt2-large --dataset_name wikitext --do_train --do_eval --fp16 "
      "--per_device_train_batch_size 1 --gradient_accumulation_steps 4 --learning_rate 2e-5 "
      "--num_train_epochs 1 --output_dir out --overwrite_output_dir",
      StudyMode::run);
  CHECK(made.name == "run_clm-gpt2-large");
  CHECK_THAT(joined(made.notes), Contains("--autotuning run is left out"));
  const StudySpec spec = read(made).spec;
  CHECK(spec.mode == StudyMode::run);
  CHECK(spec.trial.nodes == 2);
  CHECK(spec.trial.processes_per_node == 8);
  CHECK(spec.trial.launcher == Launcher::torch);
  CHECK(spec.measure.source == MeasureSource::hf);
  CHECK(joined(spec.trial.command) ==
        "python3 -u /hf/run_clm.py --local_rank={local_rank} --deepspeed {ds_config} "
        "--model_name_or_path gpt2-large --dataset_name wikitext --do_train --do_eval --fp16 "
        "--per_device_train_batch_size 1 --gradient_accumulation_steps 4 --learning_rate 2e-5 "
        "--num_train_epochs 1 --output_dir out --overwrite_output_dir");
  CHECK_THAT(joined(spec.trial.trial_args), Contains("--max_steps 1000000 --save_strategy no") &&
                                                Contains("--output_dir {work}/output") &&
                                                !Contains("eval"));
  CHECK(spec.deepspeed->config_path == "ds.json");
  CHECK(spec.deepspeed->zero_stages == std::vector<int>{0, 1, 2, 3});
}

TEST_CASE("launch_study: flags of versions are set only where the line has them", "[input]") {
  const StudySpec spec =
      read(study_of("torchrun run_glue.py --deepspeed=ds.json --output_dir o --eval_strategy "
                    "epoch --load_best_model_at_end"))
          .spec;
  CHECK_THAT(
      joined(spec.trial.trial_args),
      Contains("--eval_strategy no --load_best_model_at_end False") && !Contains("evaluation"));
  CHECK(joined(spec.trial.command) ==
        "python3 -u run_glue.py --deepspeed={ds_config} --output_dir o --eval_strategy epoch "
        "--load_best_model_at_end");
}

TEST_CASE("launch_study: Megatron's own flags agree with the DeepSpeed config", "[input]") {
  const LaunchStudy made = study_of(
      "deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py --tensor-model-parallel-size 2 "
      "--num-layers 24 --hidden-size 1024 --micro-batch-size 4 --global-batch-size 64 "
      "--train-iters 500 --eval-interval 100 --save ckpt --zero-stage 1 --deepspeed "
      "--deepspeed_config ds.json");
  const StudySpec spec =
      read(made, R"({"train_batch_size": 64, "train_micro_batch_size_per_gpu": 4})").spec;
  CHECK(spec.measure.source == MeasureSource::deepspeed);
  CHECK(spec.parallel.tensor == 2);
  CHECK(spec.deepspeed->arg_mappings ==
        std::map<std::string, std::string>{{"train_micro_batch_size_per_gpu", "--micro-batch-size"},
                                           {"train_batch_size", "--global-batch-size"},
                                           {"zero_optimization.stage", "--zero-stage"}});
  CHECK(joined(spec.trial.trial_args) == "--train-iters 1000000 --eval-interval 1000000");
  CHECK_THAT(joined(spec.trial.command), Contains("--deepspeed --deepspeed_config {ds_config}"));
}

TEST_CASE("launch_study: Megatron's flags make the baseline where the config is silent",
          "[input]") {
  for (const char* start : {"deepspeed --num_nodes 1 --num_gpus 4 pretrain_gpt.py",
                            "torchrun --nproc_per_node 4 pretrain_llama.py",
                            "srun -N1 -n4 python3 megatron/pretrain_gpt.py",
                            "torchrun --nproc_per_node 4 -m megatron.pretrain_gpt",
                            "deepspeed --num_gpus 4 finetune.py --num-layers 2"}) {
    const LaunchStudy made =
        study_of(std::string(start) +
                 " --zero-stage 1 --micro-batch-size 4 --global-batch-size=64 --train-iters 5 "
                 "--deepspeed_config ds.json");
    const StudySpec spec = read(made, "{}").spec;
    CHECK(spec.deepspeed->zero_stage == 1);
    CHECK(spec.deepspeed->micro_batch == 4);
    CHECK(spec.deepspeed->gradient_accumulation == 4);
    CHECK(spec.batch.global == 64);
    CHECK(joined(spec.trial.trial_args) == "--train-iters 1000000");
  }
}

TEST_CASE("launch_study: degrees of parallelism are those of any script's flags", "[input]") {
  const LaunchStudy made = study_of(
      "deepspeed --num_gpus 16 my.py --tensor-model-parallel-size 2 --pipe-parallel-size=2 "
      "--context-parallel-size 2 --deepspeed_config ds.json");
  const ParallelSpec parallel = read(made).spec.parallel;
  CHECK(parallel.tensor == 2);
  CHECK(parallel.pipeline == 2);
  CHECK(parallel.sequence == 2);
  const auto error = [](std::string_view flags) {
    const auto study = launch_study(
        parsed("deepspeed pretrain_gpt.py --deepspeed_config d " + std::string(flags)), {}, {});
    REQUIRE_FALSE(study);
    return study.error().message;
  };
  CHECK_THAT(error("--global-batch-size"), Contains("--global-batch-size is given nothing"));
  CHECK_THAT(error("--tensor-model-parallel-size two"), Contains("is given two, but takes"));
  CHECK_THAT(error("--pipeline-model-parallel-size=0"), Contains("is given 0, but takes"));
  CHECK_THAT(error("--tensor-model-parallel-size 2 --model-parallel-size 4"),
             Contains("contradicts --model-parallel-size 4"));
}

TEST_CASE("launch_study: accelerate's processes are told what its launcher tells", "[input]") {
  const LaunchStudy made = study_of(
      "accelerate launch --num_processes 2 --use_deepspeed --deepspeed_config_file ds.json "
      "--gradient_accumulation_steps 4 train.py --x");
  CHECK_THAT(joined(made.notes), Contains("write gradient_accumulation_steps = 4 there"));
  const StudySpec spec = read(made).spec;
  CHECK(spec.measure.startup_s == 900.0);
  CHECK_THAT(joined(spec.notes), !Contains("SLURMTUNE_DS_CONFIG"));
  CHECK(spec.trial.env ==
        std::map<std::string, std::string>{
            {"ACCELERATE_USE_DEEPSPEED", "true"},
            {"ACCELERATE_DEEPSPEED_CONFIG_FILE", "{ds_config}"},
            {"ACCELERATE_GRADIENT_ACCUMULATION_STEPS", "{p:gradient_accumulation}"}});
  CHECK(joined(spec.trial.command) == "python3 -u train.py --x");
}

TEST_CASE("launch_study: words keep what they are through TOML and placeholders", "[input]") {
  const std::vector<std::string> words{
      "mpirun",     "-np",           "2",           "./train", "a b",
      "{\"x\": 1}", "quote\"\\back", "tab\tline\n", "é",       "--deepspeed_config",
      "ds.json",    "$HOME"};
  const auto line = parse_launch_line(words);
  REQUIRE(line);
  const auto found = launch_resources(*line, {});
  REQUIRE(found);
  LaunchStudyRequest request;
  request.argv = words;
  const auto study = launch_study(*line, *found, request);
  REQUIRE(study);
  const StudySpec spec = read(*study).spec;
  CHECK(spec.trial.launcher == Launcher::automatic);
  CHECK(spec.trial.command ==
        std::vector<std::string>{"./train", "a b", "{{\"x\": 1}", "quote\"\\back", "tab\tline\n",
                                 "é", "--deepspeed_config", "{ds_config}", "$HOME"});
}

TEST_CASE("launch_study: a name is made of what may stand in one", "[input]") {
  CHECK(study_of("deepspeed ./x/train.tiny.py --deepspeed_config d --model org/My-Model").name ==
        "train-My-Model");
  CHECK(study_of("torchrun -m my.pkg.pretrain --deepspeed_config d").name == "pretrain");
  CHECK(study_of("./träin --deepspeed_config d").name == "tr--in");
}

TEST_CASE("launch_study: a line without a DeepSpeed config is refused", "[input]") {
  const auto error = [](std::string_view text) {
    const auto study = launch_study(parsed(text), {}, {});
    REQUIRE_FALSE(study);
    return study.error().message;
  };
  CHECK_THAT(error("deepspeed train.py --lr 1"),
             Contains("it names no DeepSpeed config; give it with --deepspeed_config FILE"));
  CHECK_THAT(error("accelerate launch train.py"), Contains("--deepspeed_config_file FILE"));
  CHECK_THAT(error("bash train.sh"), Contains("what a script of the shell (train.sh) starts"));
  CHECK_THAT(error("./train.sh"), Contains("give the line in it that starts the training"));
  CHECK_THAT(error("deepspeed train.py --deepspeed --lr 1"),
             Contains("--deepspeed names no DeepSpeed config (is a shell variable unset?)"));
}
