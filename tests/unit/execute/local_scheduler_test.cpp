// SPDX-License-Identifier: MIT
#include "slurmtune/execute/local/local_scheduler.hpp"

#include <csignal>
#include <thread>

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace slurmtune;
using namespace std::chrono_literals;

namespace {

/// Job scripts that append a line to the file `log`.
class Scripts {
 public:
  JobRequest job(const std::string& name, const std::string& body) {
    JobRequest request;
    request.name = name;
    request.script = directory.write(
        name + ".sbatch",
        "#!/bin/bash\n#SBATCH --output=" + directory / "%x-%A_%a.out" + "\n" + body + "\n");
    request.workdir = directory.path().string();
    return request;
  }
  JobRequest array(const std::string& name, const std::string& body, std::int64_t tasks) {
    JobRequest request = job(name, body);
    request.array_tasks = tasks;
    return request;
  }
  [[nodiscard]] std::string log() const { return directory.read("log"); }

  TemporaryDirectory directory;
};

const auto always = [] { return true; };

LocalOptions quick() {
  LocalOptions options;
  options.grace = 200ms;
  options.poll = 5ms;
  return options;
}

JobState state_of(Scheduler& scheduler, JobId job) {
  const std::vector<JobId> jobs{job};
  const auto reports = scheduler.report(jobs);
  REQUIRE(reports);
  REQUIRE(reports->size() == 1);
  return reports->front().state;
}

}  // namespace

TEST_CASE("LocalScheduler: a graph runs in its order, one task at a time", "[execute]") {
  Scripts scripts;
  LocalScheduler local(quick());
  const std::string body =
      "echo \"begin $SLURMTUNE_JOB.$SLURMTUNE_TASK\" >> log; sleep 0.05; "
      "echo \"end $SLURMTUNE_JOB.$SLURMTUNE_TASK\" >> log";
  const auto array = local.submit(scripts.array("a", body + "; exit 3", 2));
  REQUIRE(array);
  JobRequest reducer = scripts.job("r", body);
  reducer.after_any = {*array};
  const auto after = local.submit(reducer);
  REQUIRE(after);
  CHECK(state_of(local, *after) == JobState::pending);
  CHECK(local.run_until_idle(always));
  CHECK(scripts.log() == "begin 1.0\nend 1.0\nbegin 1.1\nend 1.1\nbegin 2.0\nend 2.0\n");
  CHECK(state_of(local, *after) == JobState::completed);
  const std::vector<JobId> jobs{*array};
  const auto reports = local.report(jobs);
  REQUIRE(reports->size() == 2);
  CHECK((*reports)[1].task == 1);
  CHECK((*reports)[1].state == JobState::failed);
}

TEST_CASE("LocalScheduler: output goes where #SBATCH --output says", "[execute]") {
  Scripts scripts;
  LocalScheduler local(quick());
  REQUIRE(local.submit(scripts.array("a", "echo out; echo err >&2", 2)));
  CHECK(local.run_until_idle(always));
  CHECK(scripts.directory.read("a-1_1.out") == "out\nerr\n");
}

TEST_CASE("LocalScheduler: a job over its --time is timed out with all its processes",
          "[execute]") {
  Scripts scripts;
  LocalScheduler local(quick());
  JobRequest request = scripts.job("a", "");
  scripts.directory.write("a.sbatch",
                          "#!/bin/bash\n#SBATCH --time=00:00:01\ntrap '' TERM\n"
                          "sleep 60 & echo $! > child; wait; sleep 60\n");
  const auto job = local.submit(request);
  REQUIRE(job);
  CHECK(local.run_until_idle(always));
  CHECK(state_of(local, *job) == JobState::timed_out);
  const pid_t child = std::stoi(scripts.directory.read("child"));
  for (int i = 0; i < 200 && ::kill(child, 0) == 0; ++i) std::this_thread::sleep_for(10ms);
  CHECK(::kill(child, 0) != 0);
}

TEST_CASE("LocalScheduler: cancelled tasks do not run, and leave no record", "[execute]") {
  Scripts scripts;
  LocalScheduler local(quick());
  const auto array = local.submit(scripts.array("a", "echo $SLURMTUNE_TASK >> log", 6));
  REQUIRE(array);
  CHECK(local.cancel_tasks(*array, 2, 5));
  CHECK(local.run_until_idle(always));
  CHECK(scripts.log() == "0\n1\n5\n");
  const std::vector<JobId> jobs{*array};
  CHECK(local.report(jobs)->size() == 3);
  CHECK(local.cancel(*array));
  CHECK(local.cancel(JobId{99}));
}

TEST_CASE("LocalScheduler: a running job is cancelled, and what waits for it runs", "[execute]") {
  Scripts scripts;
  LocalScheduler local(quick());
  const auto job = local.submit(scripts.job("a", "echo $$ > pid; exec sleep 60"));
  JobRequest next = scripts.job("b", "echo b >> log");
  next.after_any = {*job};
  REQUIRE(local.submit(next));
  CHECK(local.run_until_idle([&] {
    if (scripts.directory.read("pid").ends_with("\n")) CHECK(local.cancel(*job));
    return true;
  }));
  CHECK(state_of(local, *job) == JobState::cancelled);
  CHECK(scripts.log() == "b\n");
}

TEST_CASE("LocalScheduler: stopping ends what runs and keeps what waits", "[execute]") {
  Scripts scripts;
  LocalScheduler local(quick());
  const auto first = local.submit(scripts.job("a", "echo $$ > pid; sleep 60; echo done >> log"));
  const auto second = local.submit(scripts.job("b", "echo b >> log"));
  REQUIRE(second);
  int looks = 0;
  CHECK_FALSE(local.run_until_idle(
      [&] { return !scripts.directory.read("pid").ends_with("\n") && ++looks < 1000; }));
  CHECK(state_of(local, *first) == JobState::cancelled);
  CHECK(::kill(std::stoi(scripts.directory.read("pid")), 0) != 0);
  CHECK(local.run_until_idle(always));
  CHECK(scripts.log() == "b\n");
}

TEST_CASE("LocalScheduler: ids go on from the last one of the study", "[execute]") {
  Scripts scripts;
  LocalOptions options = quick();
  options.last_job = 41;
  LocalScheduler local(options);
  JobRequest request = scripts.job("a", "echo $SLURMTUNE_JOB >> log");
  request.after_any = {JobId{7}};  // of an earlier process: it is over
  CHECK(local.submit(request) == JobId{42});
  CHECK(local.find("a") == JobId{42});
  CHECK_FALSE(local.find("b").value());
  CHECK(local.run_until_idle(always));
  CHECK(scripts.log() == "42\n");
}

TEST_CASE("LocalScheduler: begin times are waited for", "[execute]") {
  Scripts scripts;
  LocalScheduler local(quick());
  JobRequest later = scripts.job("later", "echo later >> log");
  later.begin =
      std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now()) + 300ms;
  REQUIRE(local.submit(later));
  REQUIRE(local.submit(scripts.job("now", "echo now >> log")));
  CHECK(local.run_until_idle(always));
  CHECK(scripts.log() == "now\nlater\n");
}

TEST_CASE("LocalScheduler: tasks run side by side where that is asked for", "[execute]") {
  Scripts scripts;
  LocalOptions options = quick();
  options.tasks_at_once = 2;
  LocalScheduler local(options);
  // Each task waits for the other.
  REQUIRE(local.submit(scripts.array(
      "a",
      "touch at.$SLURMTUNE_TASK; for i in $(seq 500); do [ -e at.$((1 - SLURMTUNE_TASK)) ] && "
      "{ echo met >> log; exit; }; sleep 0.01; done",
      2)));
  CHECK(local.run_until_idle(always));
  CHECK(scripts.log() == "met\nmet\n");
}

TEST_CASE("LocalScheduler: a job that this process runs in is hidden from its own", "[execute]") {
  Scripts scripts;
  const ScopedVariable id("SLURM_JOB_ID", "99");
  LocalOptions options = quick();
  const ScopedVariable rank("OMPI_COMM_WORLD_RANK", "3");
  const ScopedVariable wish("SBATCH_PARTITION", "debug");
  const std::string body =
      "echo \"${SLURM_JOB_ID:-none}${OMPI_COMM_WORLD_RANK:-}${SBATCH_PARTITION:-}\" >> log";
  {
    LocalScheduler local(options);
    REQUIRE(local.submit(scripts.job("a", body)));
    CHECK(local.run_until_idle(always));
  }
  options.allocation = Allocation::used;
  LocalScheduler local(options);
  REQUIRE(local.submit(scripts.job("a", body)));
  CHECK(local.run_until_idle(always));
  CHECK(scripts.log() == "none\n993debug\n");
}

TEST_CASE("LocalScheduler: bad requests are refused as Slurm does", "[execute]") {
  Scripts scripts;
  LocalScheduler local(quick());
  JobRequest request = scripts.job("a", "true");
  request.script = "/no/such.sbatch";
  CHECK(local.submit(request).error().kind == ErrorKind::invalid_input);
  request = scripts.array("a", "true", 0);
  CHECK(local.submit(request).error().kind == ErrorKind::invalid_input);
  request = scripts.job("a", "true");
  scripts.directory.write("a.sbatch", "echo no shell named\n");
  CHECK(local.submit(request).error().kind == ErrorKind::invalid_input);
}

TEST_CASE("LocalScheduler: a job that cannot start has failed, and says why", "[execute]") {
  Scripts scripts;
  LocalScheduler local(quick());
  JobRequest request = scripts.job("a", "true");
  request.workdir = "/no/such/directory";
  const auto job = local.submit(request);
  CHECK(local.run_until_idle(always));
  CHECK(state_of(local, *job) == JobState::failed);
  CHECK(scripts.directory.read("a-1_0.out").find("/no/such/directory") != std::string::npos);
}
