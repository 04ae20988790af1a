// SPDX-License-Identifier: MIT
//
// Rendered job scripts on a real cluster: what sbatch, srun and the nodes make of them.
#include <algorithm>
#include <fstream>
#include <set>

#include "slurmtune/execute/job_script.hpp"
#include "slurmtune/execute/process.hpp"
#include "slurmtune/execute/sbatch_directives.hpp"

#include "tests/contract/slurm_under_test.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace slurmtune;

namespace {

/// A study directory whose runner notes on which node and with what it was started, once a rank.
class Study {
 public:
  Study() {
    directory.write_program("bin/slurmtune",
                            "#!/bin/bash\necho \"$*\" >> \"$SLURMTUNE_STUDY/reduced\"\n");
    directory.write_program(
        "bin/slurmtune-runner",
        "#!/bin/bash\n"
        "trap 'echo \"$SLURM_PROCID\" >> \"$SLURMTUNE_STUDY/warned\"; exit 0' USR1\n"
        "echo \"slice ${*: -1} rank $SLURM_PROCID of $SLURM_NTASKS node $SLURMD_NODENAME"
        " cpus $SLURM_CPUS_PER_TASK\" >> \"$SLURMTUNE_STUDY/ran\"\n"
        "while [ -e \"$SLURMTUNE_STUDY/wait\" ]; do sleep 0.1; done\n");
    script.study_dir = directory.path().string();
    script.study_name = "scripts";
    script.origin = script.study_dir;
    script.job_name = "st-scripts-02-frontier-a-0";
    script.stage = {"02-frontier"};
    script.previous = StageName{"01-profile"};
    script.nodes_per_task = 2;
    script.walltime = std::chrono::seconds(300);
  }

  JobRequest request() {
    const auto text = render_job_script(script);
    REQUIRE(text);
    std::filesystem::create_directories(log_directory(script));
    JobRequest request;
    request.name = script.job_name;
    request.script = script_path(script);
    std::ofstream(request.script) << *text;
    request.workdir = script.study_dir;
    return request;
  }

  /// Lines of a file that are equal count once: ranks write in any order.
  [[nodiscard]] std::set<std::string> lines(const std::string& name) const {
    std::ifstream file(directory / name);
    std::set<std::string> all;
    for (std::string line; std::getline(file, line);) all.insert(line);
    return all;
  }

  TemporaryDirectory directory;
  JobScript script;
};

bool is_over(SchedulerUnderTest& slurm, JobId job) {
  const std::vector<JobId> jobs{job};
  const auto reports = slurm.scheduler().report(jobs);
  return reports && std::all_of(reports->begin(), reports->end(), [](const JobReport& report) {
           return slurmtune::is_over(report.state);
         });
}

}  // namespace

TEST_CASE("an array task runs one runner a node with all its CPUs, on its own slice",
          "[contract]") {
  const auto slurm = make_slurm_under_test(SlurmClient::automatic);
  Study study;
  study.script.first_slice = 4;
  JobRequest request = study.request();
  request.array_tasks = 2;
  const auto job = slurm->scheduler().submit(request);
  REQUIRE(job);
  REQUIRE(slurm->wait_until([&] { return is_over(*slurm, *job); }));
  std::set<std::string> without_nodes;
  for (const std::string& line : study.lines("ran")) {
    without_nodes.insert(line.substr(0, line.find(" node ")) + line.substr(line.find(" cpus ")));
  }
  INFO(study.directory.read("stages/02-frontier/logs/slurm-" + std::to_string(job->number) +
                            "_0.out"));
  CHECK(without_nodes ==
        std::set<std::string>{"slice 4 rank 0 of 2 cpus 8", "slice 4 rank 1 of 2 cpus 8",
                              "slice 5 rank 0 of 2 cpus 8", "slice 5 rank 1 of 2 cpus 8"});
  CHECK(study.lines("ran").size() == 4);
  CHECK(study.lines("reduced") ==
        std::set<std::string>{"reduce " + study.script.study_dir + " --stage 01-profile"});
}

TEST_CASE("a script that is submitted by hand does the same", "[contract]") {
  const auto slurm = make_slurm_under_test(SlurmClient::commands);
  Study study;
  const JobRequest request = study.request();
  // As the script's own head says.
  const auto by_hand =
      run_process({.call = {.argv = {"sbatch", "--parsable", "--array=0-1", request.script},
                            .environment = {},
                            .workdir = "/"},
                   .input = ""});
  REQUIRE(by_hand);
  REQUIRE(by_hand->status.success());
  const JobId job{std::stoll(by_hand->out)};
  CHECK(slurm->scheduler().find(study.script.job_name).value() == job);
  REQUIRE(slurm->wait_until([&] { return is_over(*slurm, job); }));
  CHECK(study.lines("ran").size() == 4);
}

TEST_CASE("the warning before the end of a job's time reaches every runner", "[contract]") {
  const auto slurm = make_slurm_under_test(SlurmClient::automatic);
  Study study;
  study.directory.write("wait", "");
  const auto job = slurm->scheduler().submit(study.request());
  REQUIRE(job);
  REQUIRE(slurm->wait_until([&] { return study.lines("ran").size() == 2; }));
  // As slurmctld does for --signal=B:USR1.
  const auto sent = run_process(
      {.call = {.argv = {"scancel", "--batch", "--signal=USR1", std::to_string(job->number)},
                .environment = {},
                .workdir = ""},
       .input = ""});
  REQUIRE(sent);
  CHECK(sent->status.success());
  REQUIRE(slurm->wait_until([&] { return is_over(*slurm, *job); }));
  CHECK(study.lines("warned") == std::set<std::string>{"0", "1"});
}

TEST_CASE("reducer, guard and final call slurmtune with their stage", "[contract]") {
  const auto slurm = make_slurm_under_test(SlurmClient::automatic);
  Study study;
  study.script.walltime = std::chrono::seconds(60);
  std::vector<JobId> after;
  for (const JobKind kind : {JobKind::reducer, JobKind::guard, JobKind::final}) {
    study.script.kind = kind;
    JobRequest request = study.request();
    request.after_any = after;
    const auto job = slurm->scheduler().submit(request);
    REQUIRE(job);
    after = {*job};
  }
  REQUIRE(slurm->wait_until([&] { return is_over(*slurm, after.front()); }));
  const std::string call = "reduce " + study.script.study_dir + " --stage ";
  CHECK(study.directory.read("reduced") ==
        call + "02-frontier\n" + call + "guard\n" + call + "final\n");
}
