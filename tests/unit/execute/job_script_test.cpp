// SPDX-License-Identifier: MIT
#include "slurmtune/execute/job_script.hpp"

#include <algorithm>
#include <map>
#include <string>

#include "slurmtune/execute/process.hpp"
#include "slurmtune/execute/sbatch_directives.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace slurmtune;

namespace {

JobScript array_of(const std::string& study_dir) {
  JobScript script;
  script.study_dir = study_dir;
  script.study_name = "gpt2";
  script.origin = "/home/u/gpt2";
  script.job_name = "st-6b1f0c2d-02-frontier-a-0";
  PlannedStage stage;
  stage.name = {"02-frontier"};
  stage.tasks_max = 4;
  stage.nodes_per_task = 2;
  stage.task_walltime_s = 1800;
  script.previous = StageName{"01-profile"};
  return array_script(script, stage);
}

std::vector<SbatchDirective> directives_of(const JobScript& script) {
  const auto text = render_job_script(script);
  REQUIRE(text);
  const auto directives = read_directives(*text);
  REQUIRE(directives);
  return *directives;
}

/// A study directory whose programs print how they were called.
void write_programs(const TemporaryDirectory& directory) {
  const std::string print = "#!/bin/bash\nprintf '%s' \"${0##*/}\"; printf ' <%s>' \"$@\"; echo\n";
  directory.write_program("a b/bin/slurmtune", print);
  directory.write_program("a b/bin/slurmtune-runner",
                          print + "echo \"started $SLURMTUNE_STARTED\"\n");
  directory.write_program(
      "path/srun",
      "#!/bin/bash\nprintf 'srun'; while [ $# -gt 0 ]; do case $1 in "
      "--*) printf ' %s' \"$1\"; shift;; *) break;; esac; done; echo; exec \"$@\"\n");
}

std::string run(const std::string& text, std::vector<std::string> variables) {
  const auto result = run_process(
      {.call = {.argv = {"bash", "-s"}, .environment = std::move(variables), .workdir = ""},
       .input = text});
  REQUIRE(result);
  CHECK(result->err.empty());
  CHECK(result->status.code == 0);
  return result->out;
}

}  // namespace

TEST_CASE("render_job_script: an array asks for what was planned", "[execute]") {
  JobScript script = array_of("/s");
  script.site.partition = "gpu";
  script.site.account = "m1234";
  script.site.qos = "regular";
  script.site.constraint = "gpu&hbm80g";
  script.site.exclude = {"n7", "n[11-13]"};
  script.site.sbatch_options = {"--licenses=scratch"};
  script.site.array_options = {"--gpus-per-node=4"};
  CHECK(directives_of(script) ==
        std::vector<SbatchDirective>{{"job-name", "st-6b1f0c2d-02-frontier-a-0"},
                                     {"partition", "gpu"},
                                     {"account", "m1234"},
                                     {"qos", "regular"},
                                     {"constraint", "gpu&hbm80g"},
                                     {"exclude", "n7,n[11-13]"},
                                     {"nodes", "2"},
                                     {"exclusive", ""},
                                     {"time", "00:30:00"},
                                     {"signal", "B:USR1@60"},
                                     {"output", "/s/stages/02-frontier/logs/slurm-%A_%a.out"},
                                     {"open-mode", "append"},
                                     {"requeue", ""},
                                     {"licenses", "scratch"},
                                     {"gpus-per-node", "4"}});
}

TEST_CASE("render_job_script: a reducer asks for one core, elsewhere if there is a place",
          "[execute]") {
  JobScript script = array_of("/s");
  script.kind = JobKind::reducer;
  script.walltime = std::chrono::seconds(600);
  script.site.partition = "gpu";
  script.site.reducer_partition = "shared";
  script.site.constraint = "gpu";
  script.site.array_options = {"--gpus-per-node=4"};
  CHECK(directives_of(script) ==
        std::vector<SbatchDirective>{{"job-name", "st-6b1f0c2d-02-frontier-a-0"},
                                     {"partition", "shared"},
                                     {"nodes", "1"},
                                     {"ntasks", "1"},
                                     {"time", "00:10:00"},
                                     {"output", "/s/stages/02-frontier/logs/reduce-%j.out"},
                                     {"open-mode", "append"},
                                     {"requeue", ""}});
}

TEST_CASE("render_job_script: a training has the trials' nodes, and is not requeued", "[execute]") {
  JobScript script = array_of("/s");
  script.kind = JobKind::launch;
  script.walltime = std::chrono::seconds(7200);
  script.site.exclusive = false;
  script.site.reducer_partition = "shared";
  script.site.array_options = {"--gpus-per-node=4"};
  CHECK(directives_of(script) ==
        std::vector<SbatchDirective>{{"job-name", "st-6b1f0c2d-02-frontier-a-0"},
                                     {"nodes", std::to_string(script.nodes_per_task)},
                                     {"ntasks-per-node", std::to_string(script.processes_per_node)},
                                     {"time", "02:00:00"},
                                     {"output", "/s/logs/launch-%j.out"},
                                     {"open-mode", "append"},
                                     {"no-requeue", ""},
                                     {"gpus-per-node", "4"}});
  const auto text = render_job_script(script);
  REQUIRE(text);
  CHECK(text->find("exec /s/bin/slurmtune launch \"$SLURMTUNE_STUDY\"\n") != std::string::npos);
}

TEST_CASE("render_job_script: mail at the start, at a failure and at the end, never for each task",
          "[execute]") {
  JobScript script = array_of("/scratch/st");
  const auto types_of = [](const JobScript& each) -> std::string {
    for (const SbatchDirective& directive : directives_of(each)) {
      if (directive.key == "mail-type") return directive.value;
    }
    return "";
  };
  CHECK(types_of(script) == "");
  script.site.mail = "me@example.org";
  CHECK(types_of(script) == "FAIL");
  script.previous.reset();
  CHECK(types_of(script) == "BEGIN,FAIL");
  script.first_slice = 1000;  // the second part of an array that was split
  CHECK(types_of(script) == "FAIL");
  script.first_slice = 0;
  const std::map<JobKind, std::string> wanted{{JobKind::reducer, "FAIL"},
                                              {JobKind::guard, "FAIL"},
                                              {JobKind::final, "END,FAIL"},
                                              {JobKind::whole, "BEGIN,END,FAIL"},
                                              {JobKind::launch, "END,FAIL"}};
  for (const auto& [kind, types] : wanted) {
    script.kind = kind;
    CHECK(types_of(script) == types);
    const auto all = directives_of(script);
    const SbatchDirective user{.key = "mail-user", .value = "me@example.org"};
    CHECK(std::count(all.begin(), all.end(), user) == 1);
  }
}

TEST_CASE("render_job_script: no placeholder is left", "[execute]") {
  JobScript script = array_of("/s");
  for (const JobKind kind : {JobKind::array, JobKind::reducer, JobKind::guard, JobKind::final,
                             JobKind::whole, JobKind::launch}) {
    script.kind = kind;
    const auto text = render_job_script(script);
    REQUIRE(text);
    CHECK(text->starts_with("#!/bin/bash\n"));
    for (const char* name : {"@STAGE", "@STUDY", "@SBATCH", "@SETUP", "@PROGRAM", "@RUNNER",
                             "@PREVIOUS", "@FIRST", "@LAST", "@SCRIPT", "@ORIGIN"}) {
      INFO(name);
      CHECK(text->find(name) == std::string::npos);
    }
  }
}

TEST_CASE("render_job_script: a task runs its slice, locally by the runner alone", "[execute]") {
  const TemporaryDirectory directory;
  write_programs(directory);
  JobScript script = array_of(directory / "a b");
  script.first_slice = 8;
  script.site.modules = {"echo \"set up ${undefined:-}$also_undefined\""};
  const auto text = render_job_script(script);
  REQUIRE(text);
  const std::string path = "PATH=" + directory / "path" + ":/usr/bin:/bin";
  const std::string out = run(*text, {path, "SLURMTUNE_TASK=3", "SLURMTUNE_JOB=1"});
  const std::string expected = "set up \nslurmtune <reduce> <" + directory / "a b" +
                               "> <--stage> <01-profile>\n" + "slurmtune-runner <--study> <" +
                               directory / "a b" +
                               "> <--stage> <02-frontier> <--slice> <11>\nstarted ";
  CHECK(out.starts_with(expected));
  CHECK(out.size() > expected.size() + 5);
}

TEST_CASE("render_job_script: under Slurm one runner a node, by the site's launcher", "[execute]") {
  const TemporaryDirectory directory;
  write_programs(directory);
  JobScript script = array_of(directory / "a b");
  script.previous.reset();
  const std::vector<std::string> slurm{"PATH=" + directory / "path" + ":/usr/bin:/bin",
                                       "SLURM_JOB_ID=7", "SLURM_ARRAY_TASK_ID=2",
                                       "SLURM_CPUS_ON_NODE=16"};
  CHECK(run(*render_job_script(script), slurm)
            .starts_with("srun --mpi=pmix --nodes=2 --ntasks=2 --cpus-per-task=16 --cpu-bind=none "
                         "--overlap --mem=0 --kill-on-bad-exit=1\nslurmtune-runner <--study>"));
  script.site.runner_launch = {"srun", "--n={nodes}x", "--it's=$HOME", "--c={cpus}!"};
  CHECK(run(*render_job_script(script), slurm)
            .starts_with("srun --n=2x --it's=$HOME --c=16!\nslurmtune-runner <--study>"));
}

TEST_CASE("runner_launch_words: as a job script starts the runner, for a call by hand",
          "[execute]") {
  Site site;
  const auto words = runner_launch_words(site, {.nodes = 3, .cpus = 16});
  CHECK(words.front() == "srun");
  const auto has = [&](const std::string& word) {
    return std::find(words.begin(), words.end(), word) != words.end();
  };
  CHECK(has("--nodes=3"));
  CHECK(has("--cpus-per-task=16"));
  CHECK(has("--cpu-bind=none"));
  site.runner_launch = {"launch", "-N{nodes}", "{cpus}x{nodes}"};
  CHECK(runner_launch_words(site, {.nodes = 2, .cpus = 8}) ==
        std::vector<std::string>{"launch", "-N2", "8x2"});
}

TEST_CASE("render_job_script: a task without its predecessor's decision does not run",
          "[execute]") {
  const TemporaryDirectory directory;
  write_programs(directory);
  directory.write_program("a b/bin/slurmtune", "#!/bin/sh\nexit 3\n");
  const auto result =
      run_process({.call = {.argv = {"bash", "-s"}, .environment = {}, .workdir = ""},
                   .input = *render_job_script(array_of(directory / "a b"))});
  REQUIRE(result);
  CHECK(result->status.code == 3);
  CHECK(result->out.empty());
}

TEST_CASE("render_job_script: shell and #SBATCH are safe from odd values", "[execute]") {
  const TemporaryDirectory directory;
  JobScript script = array_of(directory / "it's $(touch bad) 100%");
  CHECK_FALSE(render_job_script(script));  // a quote cannot stand in the output's #SBATCH line
  script.study_dir = directory / "$(touch bad) 100%";
  CHECK(directive_value(directives_of(script), "output") ==
        directory / "$(touch bad) 100%%" + "/stages/02-frontier/logs/slurm-%A_%a.out");
  script.study_name = "x\nrm -rf /";
  const auto text = render_job_script(script);
  REQUIRE(text);
  CHECK(text->find("study x rm -rf /:") != std::string::npos);

  JobScript bad = array_of("/s");
  bad.site.partition = "a\nb";
  CHECK(render_job_script(bad).error().kind == ErrorKind::invalid_input);
  bad = array_of("relative");
  CHECK(render_job_script(bad).error().kind == ErrorKind::invalid_input);
  bad = array_of("/s");
  bad.site.array_options = {"--time=1"};
  CHECK(render_job_script(bad).error().kind == ErrorKind::invalid_input);
  bad = array_of("/s");
  bad.job_name = "a b";
  CHECK(render_job_script(bad).error().kind == ErrorKind::invalid_input);
}

TEST_CASE("script_path and log_directory: below the study directory", "[execute]") {
  JobScript script = array_of("/s");
  CHECK(script_path(script) == "/s/stages/02-frontier/array.sbatch");
  CHECK(log_directory(script) == "/s/stages/02-frontier/logs");
  script.first_slice = 1000;
  CHECK(script_path(script) == "/s/stages/02-frontier/array.1000.sbatch");
  script.kind = JobKind::reducer;
  CHECK(script_path(script) == "/s/stages/02-frontier/reduce.sbatch");
  script.kind = JobKind::guard;
  CHECK(script_path(script) == "/s/guard.sbatch");
  CHECK(log_directory(script) == "/s/logs");
}

TEST_CASE("a job's comment says which study it is of, and which stage", "[execute]") {
  JobScript script = array_of("/s");
  script.study_id = "6b1f0c2d-7c1e-4f0a-9d55-0a3b8e2f4c61";
  CHECK(directive_value(directives_of(script), "comment") ==
        "slurmtune study=6b1f0c2d-7c1e-4f0a-9d55-0a3b8e2f4c61 stage=02-frontier");
  script.kind = JobKind::guard;
  script.stage = {};
  CHECK(directive_value(directives_of(script), "comment") ==
        "slurmtune study=6b1f0c2d-7c1e-4f0a-9d55-0a3b8e2f4c61 stage=guard");
  // Options of the site come after it, and win.
  script.site.sbatch_options = {"--comment=billing"};
  CHECK(directive_value(directives_of(script), "comment") == "billing");
}
