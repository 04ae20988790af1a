// SPDX-License-Identifier: MIT
#include "slurmtune/report/best_scripts.hpp"

#include "slurmtune/execute/process.hpp"
#include "slurmtune/execute/sbatch_directives.hpp"

#include "tests/support/catch.hpp"
#include "tests/unit/report/report_fixture.hpp"

using namespace slurmtune;
using namespace slurmtune::test;

namespace {

/// A study whose origin is there, and whose trials print what they are given.
ReportedStudy runnable() {
  ReportedStudy study = ReportedStudy::confirmed();
  study.view.state.created.origin = study.directory() / "it's here";
  study.directory().write("it's here/train.sh",
                          "echo \"rank $RANK of $WORLD_SIZE at $MASTER_ADDR in $PWD\"\n"
                          "printf '<%s>' \"$@\"; echo; echo \"SECRET=$SECRET\"\n");
  study.input.spec.trial.command = {
      "bash", "train.sh", "a b", "$HOME", "{master_addr}:{master_port}", "{ds_config}"};
  study.input.spec.trial.env = {{"SECRET", "two words 'quoted'"}};
  study.input.spec.trial.nodes = 1;
  study.input.spec.trial.processes_per_node = 2;
  return study;
}

/// Launchers that start one rank and say how they were called.
std::string path_with_launchers(const ReportedStudy& study) {
  const std::string launcher =
      "#!/bin/bash\nprintf '%s' \"${0##*/}\"\n"
      "while [ \"$1\" != bash ]; do printf ' %s' \"$1\"; shift; done; echo\n"
      "export SLURM_PROCID=1 SLURM_LOCALID=1\nexec \"$@\"\n";
  study.directory().write_program("path/srun", launcher);
  study.directory().write_program("path/mpirun", launcher);
  return "PATH=" + (study.directory() / "path") + ":/usr/bin:/bin";
}

std::string run(const ReportedStudy& study, const Expected<std::string>& script, bool in_job) {
  REQUIRE(script);
  INFO(*script);
  std::vector<std::string> environment{path_with_launchers(study), "HOME=/root"};
  if (in_job) environment.emplace_back("SLURM_JOB_ID=4711");
  const auto result =
      run_process({.call = {.argv = {"bash", "-s"}, .environment = environment, .workdir = "/"},
                   .input = *script});
  REQUIRE(result);
  CHECK(result->err.empty());
  CHECK(result->status.code == 0);
  return result->out;
}

}  // namespace

TEST_CASE("the train script runs the winner's command in the user's directory", "[report]") {
  const ReportedStudy study = runnable();
  const TuningResult result = study.result();
  const std::string out =
      run(study, render_train_script({study.place(), study.input, study.view, result}), true);
  const std::string ds_config = (study.place().best() / "ds_config_optimal.json").string();
  CHECK(out ==
        "srun --mpi=pmix --mem=0 --kill-on-bad-exit=1 -N 1 -n 2\n"
        "rank 1 of 2 at 127.0.0.1 in " +
            (study.directory() / "it's here") + "\n<a b><$HOME><127.0.0.1:30211><" + ds_config +
            ">\nSECRET=two words 'quoted'\n");
}

TEST_CASE("after a study on one machine the command starts by mpirun", "[report]") {
  ReportedStudy study = runnable();
  study.view.state.created.submit = "local";
  const TuningResult result = study.result();
  const std::string out =
      run(study, render_command_script({study.place(), study.input, study.view, result}), false);
  CHECK(out.starts_with("mpirun --oversubscribe --bind-to none -n 2\nrank 1 of 2 at 127.0.0.1"));
}

TEST_CASE("the winner's command has no trial_args, and each rank its own place", "[report]") {
  ReportedStudy study = runnable();
  study.view.state.created.submit = "local";
  study.input.spec.trial.command.insert(study.input.spec.trial.command.begin() + 2,
                                        "--local_rank={local_rank}");
  study.input.spec.trial.trial_args = {"--max_steps", "1000"};
  const TuningResult result = study.result();
  const std::string out =
      run(study, render_command_script({study.place(), study.input, study.view, result}), false);
  CHECK_THAT(out, Catch::Matchers::Contains("<--local_rank=1><a b>"));
  CHECK_THAT(out, !Catch::Matchers::Contains("--max_steps"));
}

TEST_CASE("the command of a study on Slurm refuses to run outside a job", "[report]") {
  const ReportedStudy study = runnable();
  const TuningResult result = study.result();
  const auto script = render_command_script({study.place(), study.input, study.view, result});
  REQUIRE(script);
  const auto ran =
      run_process({.call = {.argv = {"bash", "-s"},
                            .environment = std::vector<std::string>{"PATH=/usr/bin:/bin"},
                            .workdir = "/"},
                   .input = *script});
  REQUIRE(ran);
  CHECK(ran->status.code == 2);
  CHECK(contains(ran->err, "sbatch train_optimal.sbatch"));
}

TEST_CASE("the train script asks for what one trial had, as the site wants it", "[report]") {
  ReportedStudy study = ReportedStudy::confirmed();
  study.input.site.partition = "gpu";
  study.input.site.account = "m1234";
  study.input.site.exclude = {"n7", "n9"};
  study.input.site.sbatch_options = {"--licenses=scratch"};
  study.input.site.array_options = {"--gpus-per-node=4"};
  study.input.site.modules = {"module load openmpi"};
  study.input.spec.trial.setup = {"source venv/bin/activate"};
  study.input.spec.lanes = 4;  // of one trial, not of a task
  const TuningResult result = study.result();
  const auto script = render_train_script({study.place(), study.input, study.view, result});
  REQUIRE(script);
  const auto directives = read_directives(*script);
  REQUIRE(directives);
  const auto value = [&](const char* key) { return directive_value(*directives, key); };
  CHECK(value("partition") == "gpu");
  CHECK(value("account") == "m1234");
  CHECK(value("licenses") == "scratch");
  CHECK(value("gpus-per-node") == "4");
  CHECK(value("nodes") == "2");
  CHECK(value("exclude") == "n7,n9");
  CHECK(value("exclusive") == "");
  CHECK(value("ntasks-per-node") == std::nullopt);  // as the job that mode = "run" launches
  CHECK(value("time") == "24:00:00");
  CHECK(value("array") == std::nullopt);
  CHECK(script->find("module load openmpi\n") < script->find("\ncd "));
  CHECK(script->find("\ncd ") < script->find("source venv/bin/activate\n"));
  CHECK(contains(*script, "# The best configuration that slurmtune found: z1_gas2_tmbspg4\n"));
  CHECK(contains(*script, "# speed-up  1.4 times"));
  CHECK(contains(*script, study.view.plan.study.text));
  CHECK(contains(*script, "scontrol show hostnames"));
}

TEST_CASE("a study's name cannot leave the comment at a script's head", "[report]") {
  ReportedStudy study = ReportedStudy::confirmed();
  study.view.plan.study_name = "x\nrm -rf /\n#SBATCH --uid=0";
  const TuningResult result = study.result();
  const auto script = render_train_script({study.place(), study.input, study.view, result});
  REQUIRE(script);
  CHECK_FALSE(contains(*script, "\nrm"));
  CHECK_FALSE(contains(*script, "\n#SBATCH --uid"));
}

TEST_CASE("a command that launches by itself is started as it is", "[report]") {
  ReportedStudy study = ReportedStudy::confirmed();
  study.input.spec.trial.launcher = Launcher::command;
  const TuningResult result = study.result();
  const auto script = render_train_script({study.place(), study.input, study.view, result});
  REQUIRE(script);
  CHECK(contains(*script, "\nexec train "));
  CHECK_FALSE(contains(*script, "tell_rank"));
}
