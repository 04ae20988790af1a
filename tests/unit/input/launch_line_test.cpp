// SPDX-License-Identifier: MIT
#include "slurmtune/input/launch_line.hpp"

#include "slurmtune/base/shell_quote.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/input/launch_texts.hpp"

using namespace slurmtune;
using Catch::Matchers::Contains;

namespace {

std::string error_of(std::string_view line) {
  const auto words = words_of(line);
  const auto result = parse_launch_line(words);
  INFO(line);
  REQUIRE_FALSE(result);
  CHECK(result.error().kind == ErrorKind::invalid_input);
  return result.error().message;
}

/// What runs in place of the line, without what the launcher adds.
std::string program(std::string_view line) {
  const LaunchLine parts = parsed(line);
  auto words = parts.prefix;
  words.push_back(parts.script);
  words.insert(words.end(), parts.arguments.begin(), parts.arguments.end());
  return shell_quote(words);
}

}  // namespace

TEST_CASE("a launcher disappears, the script and its arguments stay", "[input]") {
  CHECK(program("deepspeed train.py --deepspeed ds.json -x") ==
        "python3 -u train.py --deepspeed ds.json -x");
  CHECK(program("/venv/bin/deepspeed --num_gpus 4 train.py --num_gpus 2") ==
        "/venv/bin/python3 -u train.py --num_gpus 2");
  CHECK(program("deepspeed --module my.train --a") == "python3 -u -m my.train --a");
  CHECK(program("deepspeed --no_python ./train.sh a") == "./train.sh a");
  CHECK(program("torchrun --standalone --nproc_per_node=2 train.py") == "python3 -u train.py");
  CHECK(program("torchrun --nproc-per-node 2 -m pkg.train -x 1") == "python3 -u -m pkg.train -x 1");
  CHECK(program("python -m torch.distributed.run --nnodes=2 --node-rank 1 train.py") ==
        "python -u train.py");
  CHECK(program("/opt/py/bin/python3.11 -O -m torch.distributed.launch --use_env train.py") ==
        "/opt/py/bin/python3.11 -O -u train.py");
  CHECK(program("accelerate launch --num_processes 4 --use_deepspeed train.py --lr 1") ==
        "python3 -u train.py --lr 1");
  CHECK(program("python -m accelerate.commands.launch train.py") == "python -u train.py");
  CHECK(program("python3 /venv/bin/deepspeed train.py") == "python3 -u train.py");
  CHECK(program("python -m deepspeed.launcher.runner --num_gpus=1 train.py") ==
        "python -u train.py");
  CHECK(program("python3 -u train.py --x") == "python3 -u train.py --x");
  CHECK(program("python -m pkg.train --x") == "python -m pkg.train --x");
  CHECK(program("./train --deepspeed_config ds.json") == "./train --deepspeed_config ds.json");
  CHECK(program("mpirun -np 8 -x PATH --mca btl tcp,self python3 train.py") == "python3 train.py");
  CHECK(program("srun -N2 --ntasks-per-node=1 torchrun --nproc_per_node 4 train.py") ==
        "python3 -u train.py");
}

TEST_CASE("counts of nodes and processes are read in every spelling", "[input]") {
  const LaunchLine deepspeed = parsed("deepspeed --num_nodes=2 --num_gpus 8 train.py");
  CHECK(deepspeed.launcher == LineLauncher::deepspeed);
  CHECK(deepspeed.nodes->value == 2);
  CHECK(deepspeed.processes_per_node->value == 8);
  CHECK(deepspeed.processes_per_node->from == "--num_gpus 8");
  CHECK(parsed("deepspeed --num_accelerators 3 train.py").processes_per_node->value == 3);
  CHECK(parsed("deepspeed --num_acc 3 train.py").processes_per_node->value == 3);
  CHECK_FALSE(parsed("deepspeed --num_gpus -1 train.py").processes_per_node);

  const LaunchLine torch = parsed("torchrun --nnodes=1:4 --nproc-per-node=gpu train.py");
  CHECK(torch.nodes->value == 4);
  CHECK(torch.all_devices);
  CHECK_THAT(torch.notes.at(0), Contains("the largest, 4, is taken"));

  const LaunchLine accelerate =
      parsed("accelerate launch --num-processes=16 --num_machines 2 --machine_rank 0 train.py");
  CHECK(accelerate.processes->value == 16);
  CHECK(accelerate.nodes->value == 2);

  const LaunchLine slurm = parsed("srun -N2 -n8 python train.py");
  CHECK(slurm.launcher == LineLauncher::srun);
  CHECK(slurm.nodes->value == 2);
  CHECK(slurm.processes->value == 8);
  const LaunchLine nested = parsed("srun --nodes=3 deepspeed --num_gpus 4 train.py");
  CHECK(nested.launcher == LineLauncher::deepspeed);
  CHECK(nested.nodes->value == 3);
  CHECK(nested.processes_per_node->value == 4);
  CHECK(parsed("mpirun -np 4 ./a.out").processes->value == 4);
}

TEST_CASE("where the processes go is kept for the resources", "[input]") {
  const LaunchLine line = parsed("deepspeed -H hosts -i worker-0@worker-1:0,2 train.py");
  CHECK(line.hostfile == "hosts");
  CHECK(line.include == "worker-0@worker-1:0,2");
  CHECK(parsed("deepspeed --exclude=worker-1:0 train.py").exclude == "worker-1:0");
  CHECK(parsed("accelerate launch --deepspeed_hostfile h train.py").hostfile == "h");
}

TEST_CASE("what slurmtune does itself is left out, and said", "[input]") {
  const LaunchLine line = parsed(
      "deepspeed --master_addr n1 --master_port=29501 --launcher slurm --no_ssh_check "
      "--enable_each_rank_log logs --bind_cores_to_rank -q train.py");
  CHECK(line.notes.size() == 6);
  CHECK_THAT(line.notes.at(1), Contains("--master_port 29501 is left out"));
  CHECK(line.arguments.empty());
  CHECK(parsed("deepspeed --venv_script /v/bin/activate train.py").setup ==
        std::vector<std::string>{"source /v/bin/activate"});
  CHECK(parsed("deepspeed --autotuning run train.py").autotuning == "run");
  CHECK(parsed("deepspeed --autotuning=tune train.py").autotuning == "tune");
}

TEST_CASE("scripts are given --local_rank as their launcher would", "[input]") {
  CHECK(parsed("deepspeed train.py").local_rank_flag == "--local_rank");
  CHECK(parsed("deepspeed --no_local_rank train.py").local_rank_flag.empty());
  CHECK(parsed("torchrun train.py").local_rank_flag.empty());
  CHECK(parsed("python -m torch.distributed.launch train.py").local_rank_flag == "--local-rank");
  CHECK(parsed("accelerate launch train.py").local_rank_flag.empty());
}

TEST_CASE("variables before a line, and those that accelerate sets, go to the environment",
          "[input]") {
  const LaunchLine line = parsed("CUDA_VISIBLE_DEVICES=0,1 NCCL_DEBUG=INFO deepspeed train.py");
  CHECK(line.env.at("CUDA_VISIBLE_DEVICES") == "0,1");
  CHECK(line.env.at("NCCL_DEBUG") == "INFO");
  CHECK(parsed("env A=1 ./train").env.at("A") == "1");
  CHECK(parsed("mpirun -np 2 -x B=2 ./train").env.at("B") == "2");
  const LaunchLine accelerate = parsed(
      "accelerate launch --mixed_precision bf16 --deepspeed_config_file ds.json "
      "--num_cpu_threads_per_process 8 train.py");
  CHECK(accelerate.env.at("ACCELERATE_MIXED_PRECISION") == "bf16");
  CHECK(accelerate.env.at("OMP_NUM_THREADS") == "8");
  CHECK(accelerate.ds_config == "ds.json");
}

TEST_CASE("a line that cannot work is refused, with what to do", "[input]") {
  CHECK_THAT(error_of(""), Contains("nothing stands after --"));
  CHECK_THAT(error_of("deepspeed --num_gpus 4"), Contains("deepspeed is given no script"));
  CHECK(error_of("deepspeed --num_gpu4 train.py") ==
        "launch line: --num_gpu4 is no flag of deepspeed that is understood (did you mean "
        "--num_gpus?); remove it, or put it behind the script");
  CHECK_THAT(error_of("deepspeed --num_gpus= train.py"),
             Contains("--num_gpus is given nothing, but takes a number from 1; is a shell "
                      "variable unset?"));
  CHECK_THAT(error_of("deepspeed --num_nodes two train.py"), Contains("is given two"));
  CHECK_THAT(error_of("deepspeed --num_nodes=$NNODES train.py"),
             Contains("holds a variable that the shell did not expand"));
  CHECK_THAT(error_of("deepspeed --elastic_training --min_elastic_nodes 1 train.py"),
             Contains("remove it and give --num_nodes"));
  CHECK_THAT(error_of("deepspeed --autotuning fast train.py"), Contains("takes tune or run"));
  CHECK_THAT(error_of("deepspeed --num_"), Contains("is no flag of deepspeed"));
  CHECK_THAT(error_of("deepspeed $SCRIPT"), Contains("the script is $SCRIPT"));
  CHECK_THAT(error_of("accelerate config"), Contains("only `accelerate launch"));
  CHECK_THAT(error_of("accelerate launch --zero_stage 2 train.py"),
             Contains("--deepspeed_config_file"));
  CHECK_THAT(error_of("python3 -c print()"), Contains("runs no script"));
  CHECK_THAT(error_of("srun --frobnicate=3 ./a"), Contains("is no flag of srun"));
  CHECK_THAT(error_of("mpirun -np 4"), Contains("mpirun is given no program"));
  CHECK_THAT(error_of("sbatch job.sh"), Contains("submits its own"));
  CHECK_THAT(error_of("apptainer exec --nv image.sif deepspeed train.py"),
             Contains("give the line from deepspeed on"));
}

TEST_CASE("env and what else may stand before a program is understood", "[input]") {
  const LaunchLine line = parsed("env -u HTTP_PROXY A=1 nohup deepspeed --num_gpus 2 train.py");
  CHECK(line.launcher == LineLauncher::deepspeed);
  CHECK(line.env.at("A") == "1");
  CHECK(line.setup == std::vector<std::string>{"unset HTTP_PROXY"});
  CHECK_THAT(line.notes.at(0), Contains("nohup is left out"));
  CHECK(parsed("/usr/bin/env --unset=X -- B=2 ./train").setup ==
        std::vector<std::string>{"unset X"});
  CHECK(parsed("env -uX python train.py").script == "train.py");
  CHECK(parsed("A=1 env -u A ./train").env.empty());
  CHECK(parsed("mpirun -np 2 env -u A ./train").setup == std::vector<std::string>{"unset A"});
  CHECK_THAT(error_of("env -i deepspeed train.py"), Contains("env -u NAME"));
  CHECK_THAT(error_of("env - deepspeed train.py"), Contains("env -u NAME"));
  CHECK_THAT(error_of("deepspeed --hostfile= train.py"), Contains("is a shell variable unset?"));
  CHECK_THAT(error_of("env -C /data python train.py"), Contains("cd /data"));
  CHECK_THAT(error_of("env -u deepspeed"), Contains("it names no program"));
  CHECK_THAT(error_of("env -u 1x ./train"), Contains("takes the name of a variable"));
  CHECK_THAT(error_of("env --frob ./train"), Contains("--frob is no option of env"));
}

TEST_CASE("a line that is hidden in one word or in a shell is refused with what to type",
          "[input]") {
  const auto error = [](const std::vector<std::string>& words) {
    const auto line = parse_launch_line(words);
    REQUIRE_FALSE(line);
    return line.error().message;
  };
  CHECK_THAT(error({"deepspeed --num_gpus 4 train.py --deepspeed ds.json"}),
             Contains("is one word") && Contains("without the quotes") &&
                 Contains("slurmtune tune -- deepspeed --num_gpus 4 train.py"));
  CHECK_THAT(error({"CUDA_VISIBLE_DEVICES=0 python train.py"}), Contains("is one word"));
  CHECK_THAT(error({"deepspeed", "train.py --deepspeed ds.json"}), Contains("is one word"));
  CHECK_THAT(error({"bash", "-lc", "module load cuda; torchrun train.py"}),
             Contains("bash -lc hides the line") && Contains("trial.setup"));
  CHECK_THAT(error({"env", "-S", "deepspeed train.py"}), Contains("-- deepspeed train.py …"));
  CHECK(parse_launch_line(std::vector<std::string>{"python", "my dir/train.py"})->script ==
        "my dir/train.py");
}

TEST_CASE("programs of different kinds side by side are refused", "[input]") {
  CHECK_THAT(error_of("mpirun -np 2 ./a --x : -np 2 ./b"), Contains("mpirun … : …"));
  CHECK_THAT(error_of("srun -n1 ./a : -n2 ./b"), Contains("the line of one program"));
  CHECK_THAT(error_of("srun -n4 --multi-prog conf"), Contains("the line of one program"));
  CHECK_THAT(error_of("mpirun --app file"), Contains("the line of one program"));
  CHECK_THAT(error_of("srun --het-group=0,1 ./a"), Contains("the line of one program"));
}

TEST_CASE("a launcher that starts another one twice over is refused", "[input]") {
  CHECK_THAT(error_of("srun -n2 mpirun -np 2 ./a"), Contains("srun starts mpirun, which starts"));
  CHECK_THAT(error_of("deepspeed torchrun train.py"), Contains("deepspeed starts torchrun, which"));
}

TEST_CASE("words that are no text are refused", "[input]") {
  CHECK_THAT(error_of("python tr\xff.py"), Contains("is not UTF-8"));
  CHECK(parsed("python träin.py").script == "träin.py");
}

TEST_CASE("flags of mpirun and srun are taken as they take them", "[input]") {
  CHECK(parsed("mpirun --np 4 -mca btl tcp --bind-to core ./a").processes->value == 4);
  const LaunchLine mapped = parsed("mpirun -np 8 --map-by ppr:4:node:pe=2 ./a");
  CHECK(mapped.processes_per_node->value == 4);
  CHECK(mapped.processes_per_node->from == "--map-by 'ppr:4:node:pe=2'");
  CHECK(parsed("mpirun -np 2 --map-by node ./a").by_node);
  CHECK_THAT(parsed("mpirun -np 2 --map-by socket ./a").notes.at(0), Contains("is left out"));
  CHECK(parsed("mpirun -H a:2 -host b:2 ./a").hosts == "a:2,b:2");
  // Its value is optional, and never the next word.
  CHECK(parsed("srun -N 2-4 ./a").nodes->value == 4);
  CHECK(parsed("srun --kill-on-bad-exit --exclusive=user ./a").script == "./a");
  const LaunchLine exported = parsed("srun --export=ALL,A=1,B=x ./a");
  CHECK(exported.env.at("A") == "1");
  CHECK(exported.env.at("B") == "x");
  CHECK(exported.notes.empty());
  CHECK_THAT(parsed("srun --export=NONE ./a").notes.at(0), Contains("whole environment"));
  CHECK_THAT(error_of("srun --chdir=/data ./a"), Contains("go there first"));
  const LaunchLine nested = parsed("mpirun -np 2 -npernode 1 torchrun --nproc_per_node 4 train.py");
  CHECK(nested.nodes->value == 2);
  CHECK(nested.processes_per_node->value == 4);
}

TEST_CASE("words of the script that look like a slip are pointed at", "[input]") {
  const std::vector<std::string> words{"deepspeed", "train.py", "--name", "", "--lr", "$LR"};
  const auto line = parse_launch_line(words);
  REQUIRE(line);
  REQUIRE(line->notes.size() == 2);
  CHECK_THAT(line->notes[0], Contains("an argument is empty (after --name)"));
  CHECK_THAT(line->notes[1], Contains("'$LR' stays as it is"));
  CHECK(line->arguments == std::vector<std::string>{"--name", "", "--lr", "$LR"});
}

TEST_CASE("the DeepSpeed config is found in every form", "[input]") {
  const auto file = [](std::string_view arguments) -> std::string {
    const auto found = find_ds_config(words_of(arguments));
    if (!found) return found.error().message;
    return *found ? (*found)->file : "none";
  };
  CHECK(file("--deepspeed ds.json --x") == "ds.json");
  CHECK(file("--x 1 --deepspeed=conf/ds") == "conf/ds");
  CHECK(file("--deepspeed_config ds.json") == "ds.json");
  CHECK(file("--deepspeed_config=ds.json") == "ds.json");
  CHECK(file("--deepspeed --deepspeed_config ds.json") == "ds.json");
  CHECK(file("--deepspeed True --deepspeed_config ds.json") == "ds.json");
  CHECK(file("--deepspeed_config a.json --deepspeed b.json") == "a.json");
  CHECK(file("--ds-config ds.json") == "ds.json");
  CHECK(file("--deepspeed --lr 1") == "none");
  CHECK(file("--deepspeed") == "none");
  CHECK(file("--deepspeed_config_x a") == "none");
  CHECK_THAT(file("--deepspeed {\"fp16\":1}"), Contains("write it into a file"));
  CHECK_THAT(file("--deepspeed_config eyJmcDE2IjogeyJlbmFibGVkIjogdHJ1ZX19Cg=="),
             Contains("write it into a file"));
  CHECK_THAT(file("--deepspeed="), Contains("is a shell variable unset?"));
}

TEST_CASE("Hugging Face's Trainer is known by its flags", "[input]") {
  CHECK(is_hf_trainer(parsed("deepspeed run_clm.py --deepspeed d --output_dir o")));
  CHECK(is_hf_trainer(
      parsed("torchrun run_glue.py --do_train --per_device_train_batch_size 8 --output_dir o")));
  CHECK_FALSE(is_hf_trainer(
      parsed("accelerate launch run_clm_no_trainer.py --output_dir o --report_to none")));
  CHECK_FALSE(is_hf_trainer(parsed(
      "deepspeed main.py --deepspeed --per_device_train_batch_size 4 --output_dir ./output")));
  CHECK_FALSE(is_hf_trainer(parsed("deepspeed train.py --deepspeed ds.json")));
}
