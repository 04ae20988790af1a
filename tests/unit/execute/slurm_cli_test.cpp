// SPDX-License-Identifier: MIT
#include "slurmtune/execute/slurm_cli/slurm_cli.hpp"

#include "slurmtune/execute/slurm_cli/squeue_output.hpp"
#include "slurmtune/execute/slurm_scheduler.hpp"
#include "slurmtune/execute/tuning_executor.hpp"

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace slurmtune;
using namespace std::chrono_literals;

namespace {

/// A PATH with sbatch, squeue and scancel as shell scripts, which note how they were called.
class FakeSlurm {
 public:
  FakeSlurm() : path_("PATH", directory_.path().string() + ":/usr/bin:/bin") {
    program("sbatch", "echo 4711");
    program("squeue", "true");
    program("scancel", "true");
  }

  void program(const std::string& name, const std::string& body) {
    directory_.write_program(
        name,
        "#!/bin/sh\n[ \"$1\" != --version ] || { echo slurm-wlm 22.05.8; exit; }\n"
        "cd '" +
            directory_.path().string() +
            "'\n"
            "echo " +
            name + " \"$@\" >> calls\n" + body + "\n");
  }
  [[nodiscard]] std::string calls() const { return directory_.read("calls"); }
  [[nodiscard]] std::string read(const std::string& name) const { return directory_.read(name); }

  static std::unique_ptr<Scheduler> client(SlurmCliOptions options = {}) {
    auto made = make_slurm_cli(options);
    REQUIRE(made);
    return *std::move(made);
  }

 private:
  TemporaryDirectory directory_;
  ScopedVariable path_;
};

JobRequest request() {
  JobRequest job;
  job.name = "st-6b1f0c2d-01-profile-a-0";
  job.script = "/s/array.sbatch";
  job.workdir = "/s";
  return job;
}

const std::string timed_out =
    "echo 'sbatch: error: Batch job submission failed: Socket timed out on send/recv operation' "
    ">&2; exit 1";

TuningExecutor executor(std::unique_ptr<Scheduler> scheduler) {
  ExecutorOptions options;
  options.retry.attempts_max = 4;
  options.sleep = [](std::chrono::milliseconds) {};
  return TuningExecutor(std::move(scheduler), options);
}

}  // namespace

TEST_CASE("slurm_cli: what a study asks for is on the command line", "[execute]") {
  FakeSlurm slurm;
  JobRequest job = request();
  job.array_tasks = 8;
  job.array_at_once = 2;
  job.after_any = {JobId{5}, JobId{6}};
  job.begin = Instant(1'796'000'000'000ms);
  const ScopedVariable zone("TZ", "UTC");
  CHECK(FakeSlurm::client()->submit(job) == JobId{4711});
  CHECK(slurm.calls() ==
        "sbatch --parsable --job-name=st-6b1f0c2d-01-profile-a-0 --chdir=/s --array=0-7%2 "
        "--dependency=afterany:5:6 --begin=2026-11-30T00:53:20 /s/array.sbatch\n");
  CHECK(FakeSlurm::client()->description() == "slurm commands 22.05.8");
}

TEST_CASE("slurm_cli: the job id is found among a site's greetings", "[execute]") {
  FakeSlurm slurm;
  slurm.program("sbatch", "echo 'Welcome to 2026 cores'; echo '4712;cluster'; echo '--> ok'");
  CHECK(FakeSlurm::client()->submit(request()) == JobId{4712});
}

TEST_CASE("slurm_cli: a refusal is the user's to mend, in Slurm's words", "[execute]") {
  FakeSlurm slurm;
  slurm.program("sbatch", "echo 'sbatch: error: invalid partition specified: nope' >&2; exit 1");
  const auto job = FakeSlurm::client()->submit(request());
  REQUIRE_FALSE(job);
  CHECK(job.error() == Error{ErrorKind::invalid_input,
                             "Slurm refuses the job st-6b1f0c2d-01-profile-a-0 (/s/array.sbatch): "
                             "invalid partition specified: nope"});
}

TEST_CASE("slurm_cli: no answer, a hang and an answer without an id are unavailable", "[execute]") {
  FakeSlurm slurm;
  for (const std::string& body : {timed_out, std::string("exec sleep 20"), std::string("true")}) {
    slurm.program("sbatch", body);
    const auto job = FakeSlurm::client({.command_timeout = 200ms})->submit(request());
    REQUIRE_FALSE(job);
    CHECK(job.error().kind == ErrorKind::unavailable);
  }
}

TEST_CASE("slurm_cli: a lost answer does not submit twice", "[execute]") {
  FakeSlurm slurm;
  slurm.program("sbatch", "echo x >> submitted; " + timed_out);
  slurm.program("squeue", "[ ! -e submitted ] || echo '4711|N/A|PENDING|0|0|N/A|Priority||st-x'");
  auto tuning = executor(FakeSlurm::client());
  CHECK(tuning.submit(request()) == JobId{4711});
  CHECK(slurm.read("submitted") == "x\n");
}

TEST_CASE("slurm_cli: a submission that never arrived is tried again", "[execute]") {
  FakeSlurm slurm;
  slurm.program("sbatch", "echo x >> tries; [ $(wc -l < tries) -lt 3 ] || { echo 4713; exit; }; " +
                              timed_out);
  auto tuning = executor(FakeSlurm::client());
  CHECK(tuning.submit(request()) == JobId{4713});
  CHECK(slurm.read("tries") == "x\nx\nx\n");
}

TEST_CASE("slurm_cli: a controller that stays silent ends the attempts", "[execute]") {
  FakeSlurm slurm;
  slurm.program("sbatch", "echo x >> tries; " + timed_out);
  slurm.program("squeue", timed_out);
  auto tuning = executor(FakeSlurm::client());
  const auto job = tuning.submit(request());
  REQUIRE_FALSE(job);
  CHECK(job.error().kind == ErrorKind::unavailable);
  // Without a look-up that says "no such job" it must not submit again.
  CHECK(slurm.read("tries") == "x\n");
}

TEST_CASE("slurm_cli: jobs are asked for by one squeue", "[execute]") {
  FakeSlurm slurm;
  slurm.program("squeue",
                "printf '%s\\n' 'CLUSTER: main' '5|0|COMPLETED|0|1|N/A|None|n1|st-a' "
                "'5|1-7%2|PENDING|0|0|N/A|Resources||st-a' '6|N/A|ODD_STATE|0|0|N/A|None||st-b' "
                "'9|N/A|RUNNING|0|0|N/A|None|n2|other'");
  const std::vector<JobId> jobs{JobId{5}, JobId{6}, JobId{7}};
  const auto reports = FakeSlurm::client()->report(jobs);
  REQUIRE(reports);
  REQUIRE(reports->size() == 3);
  CHECK((*reports)[0].task == 0);
  CHECK((*reports)[0].state == JobState::completed);
  CHECK((*reports)[0].nodes == "n1");
  CHECK((*reports)[0].exit_code == 0);
  CHECK((*reports)[0].restarts == 1);
  CHECK((*reports)[1].task == std::nullopt);
  CHECK((*reports)[1].reason == "Resources");
  CHECK((*reports)[2].job == JobId{6});
  CHECK((*reports)[2].state == JobState::unknown);
  CHECK(slurm.calls() ==
        "squeue --noheader --states=all --jobs=5,6,7 "
        "--Format=ArrayJobID:|,ArrayTaskID:|,State:|,exit_code:|,RestartCnt:|,StartTime:|,Reason:|,"
        "NodeList:|,Name:\n");
}

TEST_CASE("slurm_cli: no query for no jobs", "[execute]") {
  FakeSlurm slurm;
  const auto reports = FakeSlurm::client()->report({});
  REQUIRE(reports);
  CHECK(reports->empty());
  CHECK(slurm.calls().empty());
}

TEST_CASE("slurm_cli: forgotten jobs are left out", "[execute]") {
  FakeSlurm slurm;
  slurm.program("squeue",
                "case \"$*\" in *--jobs*) echo 'slurm_load_jobs error: Invalid job id specified' "
                ">&2; exit 1;; esac; echo '6|N/A|RUNNING|0|0|N/A|None|n1|st-b'");
  const std::vector<JobId> one{JobId{5}};
  CHECK(FakeSlurm::client()->report(one)->empty());
  const std::vector<JobId> two{JobId{5}, JobId{6}};
  const auto reports = FakeSlurm::client()->report(two);
  REQUIRE(reports);
  REQUIRE(reports->size() == 1);
  CHECK(reports->front().job == JobId{6});
}

TEST_CASE("slurm_cli: find gives the newest of a name", "[execute]") {
  FakeSlurm slurm;
  slurm.program(
      "squeue",
      "printf '%s\\n' '5|N/A|FAILED|256|0|N/A|None|n1|st-a' '8|0|RUNNING|0|0|N/A|None|n1|st-a' "
      "'8|1|RUNNING|0|0|N/A|None|n1|st-a'");
  CHECK(FakeSlurm::client()->find("st-a") == JobId{8});
  CHECK(slurm.calls().find("--name=st-a") != std::string::npos);
  slurm.program("squeue", "true");
  CHECK_FALSE(FakeSlurm::client()->find("st-a").value());
  CHECK_FALSE(FakeSlurm::client()->find("a,b"));
}

TEST_CASE("slurm_cli: cancelling what is over or unknown is no error", "[execute]") {
  FakeSlurm slurm;
  const auto client = FakeSlurm::client();
  CHECK(client->cancel(JobId{5}));
  CHECK(client->cancel_tasks(JobId{5}, 3, 8));
  CHECK(client->cancel_tasks(JobId{5}, 3, 3));
  CHECK(slurm.calls() == "scancel 5\nscancel 5_[3-7]\n");
  slurm.program("scancel",
                "printf '%s\\n' 'scancel: error: Kill job error on job id 5_3: Job/step already "
                "completing or completed' 'scancel: error: Kill job error on job id 5_4: Invalid "
                "job id specified' >&2; exit 1");
  CHECK(client->cancel(JobId{5}));
  slurm.program("scancel",
                "printf '%s\\n' 'scancel: error: Kill job error on job id 5: Access/permission "
                "denied' 'scancel: error: Kill job error on job id 6: Invalid job id specified' "
                ">&2; exit 1");
  const auto refused = client->cancel(JobId{5});
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::invalid_input);
}

TEST_CASE("slurm_cli: nothing of the job that we run in reaches sbatch", "[execute]") {
  FakeSlurm slurm;
  slurm.program("sbatch", "env > environment; echo 4711");
  const ScopedVariable id("SLURM_JOB_ID", "99");
  const ScopedVariable partition("SBATCH_PARTITION", "other");
  const ScopedVariable conf("SLURM_CONF", "/dev/null");
  REQUIRE(FakeSlurm::client()->submit(request()));
  const std::string environment = slurm.read("environment");
  CHECK(environment.find("SLURM_JOB_ID") == std::string::npos);
  CHECK(environment.find("SBATCH_PARTITION") == std::string::npos);
  CHECK(environment.find("SLURM_CONF=/dev/null\n") != std::string::npos);
}

TEST_CASE("make_slurm_cli: without the commands it says what to do", "[execute]") {
  const TemporaryDirectory empty;
  const ScopedVariable path("PATH", empty.path().string());
  const auto client = make_slurm_cli();
  REQUIRE_FALSE(client);
  CHECK(client.error().kind == ErrorKind::unavailable);
  CHECK(client.error().message.starts_with("sbatch is not in PATH"));
}

TEST_CASE("parse_squeue: a name may hold anything", "[execute]") {
  const auto reports =
      parse_squeue("5|N/A|RUNNING|0|0|2026-12-01T04:00:00|None|n[1-2]|a|b c\nnoise\n|||||\n");
  REQUIRE(reports.size() == 1);
  CHECK(reports[0].name == "a|b c");
  CHECK(reports[0].nodes == "n[1-2]");
}

TEST_CASE("parse_squeue: a job that waits has the start that Slurm expects, in local time",
          "[execute]") {
  const ScopedVariable zone("TZ", "UTC");
  const auto reports = parse_squeue(
      "5|N/A|PENDING|0|0|2026-12-01T04:00:00|Resources||st-a\n"
      "6|N/A|PENDING|0|0|N/A|Dependency||st-b\n"
      "7|N/A|RUNNING|0|0|2026-12-01T03:00:00|None|n1|st-c\n");
  REQUIRE(reports.size() == 3);
  CHECK(reports[0].starts == *parse_instant("2026-12-01T04:00:00Z"));
  CHECK(reports[1].starts == std::nullopt);
  CHECK(reports[2].starts == std::nullopt);
}

TEST_CASE("make_slurm_cli: a configuration that cannot be read is not waited for", "[execute]") {
  FakeSlurm slurm;
  const ScopedVariable conf("SLURM_CONF", "/no/such/slurm.conf");
  const auto client = make_slurm_cli();
  REQUIRE_FALSE(client);
  CHECK(client.error() ==
        Error{ErrorKind::unavailable, "SLURM_CONF=/no/such/slurm.conf: that file cannot be read"});
}

TEST_CASE("make_slurm_scheduler: the environment chooses where the caller does not", "[execute]") {
  FakeSlurm slurm;
  const ScopedVariable conf("SLURM_CONF", "/dev/null");
  {
    const ScopedVariable choice("SLURMTUNE_SLURM_CLIENT", "commands");
    CHECK((*make_slurm_scheduler())->description() == "slurm commands 22.05.8");
  }
  const ScopedVariable choice("SLURMTUNE_SLURM_CLIENT", "smoke signals");
  CHECK(make_slurm_scheduler().error() ==
        Error{ErrorKind::invalid_input,
              "SLURMTUNE_SLURM_CLIENT=smoke signals: write commands, libslurm or auto"});
}

TEST_CASE("parse_sacct: how tasks ended, and by whom they were cancelled", "[execute]") {
  const auto reports = parse_sacct(
      "2|CANCELLED by 1000|0:0|None assigned|held\n1_0|FAILED|3:0|n1|a-b\n"
      "1_1|NODE_FAIL|0:0|n[1-2]|a-b\n9_2|RUNNING|0:0|n1|x\n9_3|CANCELLED by 0|0:15|n1|x\n"
      "9_[4-5%2]|PENDING|0:0|None assigned|x\nnoise\n9_[6-7]|CANCELLED by 0|0:0|None assigned|x\n",
      1000);
  REQUIRE(reports.size() == 4);
  CHECK(reports[0].state == JobState::cancelled);
  CHECK(reports[0].cancelled_by == CancelledBy::owner);
  CHECK(reports[0].task == std::nullopt);
  CHECK(reports[0].nodes.empty());
  CHECK(reports[1].job == JobId{1});
  CHECK(reports[1].task == 0);
  CHECK(reports[1].exit_code == 3);
  CHECK(reports[2].state == JobState::node_failed);
  CHECK(reports[2].nodes == "n[1-2]");
  CHECK(reports[3].task == 3);
  CHECK(reports[3].signal == 15);
  CHECK(reports[3].cancelled_by == CancelledBy::other);
}

TEST_CASE("slurm_cli: accounting is asked once for all jobs, for a moment", "[execute]") {
  FakeSlurm slurm;
  const std::vector<JobId> jobs{JobId{5}, JobId{6}};
  slurm.program("sacct", "echo '5_1|TIMEOUT|0:0|n1|st-a'");
  const auto reports = FakeSlurm::client()->accounting(jobs);
  REQUIRE(reports);
  REQUIRE(reports->size() == 1);
  CHECK(reports->front().state == JobState::timed_out);
  CHECK(slurm.calls() ==
        "sacct --noheader --parsable2 --allocations --starttime=1970-01-01 "
        "--format=JobID,State,ExitCode,NodeList,JobName --jobs=5,6\n");
  slurm.program("sacct", "echo 'Slurm accounting storage is disabled' >&2; exit 1");
  CHECK(FakeSlurm::client()->accounting(jobs).error().message ==
        "sacct: Slurm accounting storage is disabled");
  slurm.program("sacct", "exec sleep 20");
  CHECK_FALSE(FakeSlurm::client({.accounting_timeout = 200ms})->accounting(jobs));
}

TEST_CASE("slurm_cli: nodes are left out for the tasks that wait", "[execute]") {
  FakeSlurm slurm;
  slurm.program("scontrol",
                "printf '%s\\n' '9_0-1: Job has already finished' '9_2-3: Job is no longer pending "
                "execution' '9_4-5: No error' >&2; exit 1");
  CHECK(FakeSlurm::client()->exclude_nodes(JobId{9}, "n1,n2"));
  CHECK(slurm.calls() == "scontrol update JobId=9 ExcNodeList=n1,n2\n");
  slurm.program("scontrol", "echo 'Invalid node name specified for job 9' >&2; exit 1");
  const auto refused = FakeSlurm::client()->exclude_nodes(JobId{9}, "nix");
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::invalid_input);
}
