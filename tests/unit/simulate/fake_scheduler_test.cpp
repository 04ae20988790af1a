// SPDX-License-Identifier: MIT
#include "slurmtune/simulate/fake_scheduler.hpp"

#include <fstream>

#include "tests/support/catch.hpp"
#include "tests/support/temporary_directory.hpp"

using namespace slurmtune;
using namespace std::chrono_literals;

namespace {

/// A fake cluster whose tasks last as long as the test says, and are noted.
class Cluster {
 public:
  explicit Cluster(FakeClusterOptions options = {}) {
    options.behaviour = [this](const FakeTask& task) {
      started.push_back(task);
      return FakeRun{.duration = duration,
                     .ending = JobState::completed,
                     .at_end = [this](JobState state) { ended.push_back(state); }};
    };
    scheduler.emplace(clock, std::move(options));
  }

  JobId submit(const std::string& directives = "", std::optional<std::int64_t> tasks = {},
               std::vector<JobId> after = {}) {
    const std::string name = "job-" + std::to_string(scheduler->submitted().size());
    JobRequest job{.name = name,
                   .script = (scratch.path() / name).string(),
                   .workdir = scratch.path().string(),
                   .array_tasks = tasks,
                   .array_at_once = std::nullopt,
                   .after_any = std::move(after),
                   .begin = std::nullopt};
    std::ofstream(job.script) << "#!/bin/sh\n" << directives;
    last_name = name;
    const auto id = scheduler->submit(job);
    return id ? *id : JobId{0};
  }

  [[nodiscard]] std::vector<JobReport> report(JobId job) {
    const std::vector<JobId> jobs{job};
    return scheduler->report(jobs).value();
  }

  TemporaryDirectory scratch;
  ManualClock clock;
  std::chrono::milliseconds duration = 10s;
  std::vector<FakeTask> started;
  std::vector<JobState> ended;
  std::string last_name;
  std::optional<FakeScheduler> scheduler;
};

constexpr const char* whole_node = "#SBATCH --exclusive\n";

}  // namespace

TEST_CASE("FakeScheduler: nothing happens until time passes", "[simulate]") {
  Cluster cluster;
  const JobId job = cluster.submit();
  CHECK(cluster.started.empty());
  cluster.scheduler->advance(0s);
  CHECK(cluster.started.size() == 1);
  cluster.scheduler->advance(9s);
  CHECK(cluster.ended.empty());
  CHECK(cluster.report(job).front().state == JobState::running);
  cluster.scheduler->advance(1s);
  CHECK(cluster.ended == std::vector{JobState::completed});
  CHECK(cluster.report(job).front().state == JobState::completed);
  CHECK(cluster.clock.now() == ManualClock::evening + 10s);
}

TEST_CASE("FakeScheduler: whole nodes are given to one task at a time", "[simulate]") {
  Cluster cluster({.nodes = 3});
  const JobId array =
      cluster.submit(std::string(whole_node) + "#SBATCH --nodes=2\n", std::int64_t{2});
  const JobId single = cluster.submit(whole_node);
  cluster.scheduler->advance(0s);
  REQUIRE(cluster.started.size() == 2);
  CHECK(cluster.started[0].job == array);
  CHECK(cluster.started[0].nodes == std::vector<std::string>{"n1", "n2"});
  CHECK(cluster.started[1].job == single);  // what fits, starts
  CHECK(cluster.started[1].nodes == std::vector<std::string>{"n3"});
  CHECK(cluster.report(array).back().reason == "Resources");
  cluster.scheduler->advance(10s);
  REQUIRE(cluster.started.size() == 3);
  CHECK(cluster.started[2].task == 1);
}

TEST_CASE("FakeScheduler: small jobs share a node", "[simulate]") {
  Cluster cluster({.nodes = 1, .cpus_per_node = 2});
  for (int i = 0; i < 3; ++i) static_cast<void>(cluster.submit());
  cluster.scheduler->advance(0s);
  CHECK(cluster.scheduler->running().size() == 2);
  CHECK(cluster.scheduler->run_until_idle(1min));
  CHECK(cluster.started.size() == 3);
}

TEST_CASE("FakeScheduler: a task ends at its time limit", "[simulate]") {
  Cluster cluster;
  cluster.duration = 2h;
  const JobId job = cluster.submit("#SBATCH --time=0:01:00\n");
  cluster.scheduler->advance(59s);
  CHECK(cluster.ended.empty());
  cluster.scheduler->advance(1s);
  CHECK(cluster.ended == std::vector{JobState::timed_out});
  CHECK(cluster.report(job).front().state == JobState::timed_out);
  CHECK(cluster.started.front().ends_by == ManualClock::evening + 1min);
}

TEST_CASE("FakeScheduler: array tasks cancelled while pending leave no record", "[simulate]") {
  Cluster cluster;
  const JobId first = cluster.submit();
  const JobId array = cluster.submit("", std::int64_t{8}, {first});
  const JobId single = cluster.submit("", std::nullopt, {first});
  CHECK(cluster.report(array).size() == 1);
  CHECK(cluster.report(array).front().reason == "Dependency");
  REQUIRE(cluster.scheduler->cancel(array));
  REQUIRE(cluster.scheduler->cancel(single));
  CHECK(cluster.report(array).empty());
  CHECK(cluster.scheduler->find("job-1").value() == std::nullopt);
  REQUIRE(cluster.report(single).size() == 1);
  CHECK(cluster.report(single).front().state == JobState::cancelled);
}

TEST_CASE("FakeScheduler: ended jobs are forgotten after a while", "[simulate]") {
  Cluster cluster({.forget_after = 60s});
  const JobId job = cluster.submit();
  CHECK(cluster.scheduler->run_until_idle(1min));
  CHECK(cluster.report(job).size() == 1);
  cluster.scheduler->advance(60s);
  CHECK(cluster.report(job).empty());
  CHECK(cluster.scheduler->find(cluster.last_name).value() == std::nullopt);
}

TEST_CASE("FakeScheduler: a job whose answer is lost exists", "[simulate]") {
  Cluster cluster;
  cluster.scheduler->lose_next_answer();
  CHECK(cluster.submit() == JobId{0});
  const auto found = cluster.scheduler->find(cluster.last_name);
  REQUIRE(found);
  CHECK(*found == cluster.scheduler->submitted().front());
  CHECK(cluster.submit() != JobId{0});
}

TEST_CASE("FakeScheduler: a controller that is away answers nothing and does nothing",
          "[simulate]") {
  Cluster cluster;
  const JobId job = cluster.submit();
  cluster.scheduler->controller_away();
  const std::vector<JobId> jobs{job};
  const auto report = cluster.scheduler->report(jobs);
  REQUIRE_FALSE(report);
  CHECK(report.error().kind == ErrorKind::unavailable);
  CHECK(cluster.submit() == JobId{0});
  CHECK_FALSE(cluster.scheduler->find("job-0"));
  CHECK_FALSE(cluster.scheduler->cancel(job));
  cluster.scheduler->advance(20s);  // jobs go on
  cluster.scheduler->controller_back();
  CHECK(cluster.scheduler->submitted().size() == 1);
  CHECK(cluster.report(job).front().state == JobState::completed);
  CHECK(cluster.scheduler->calls() == FakeCalls{.submit = 2, .find = 1, .report = 2, .cancel = 1});
}

TEST_CASE("FakeScheduler: tasks of a failed node are started again elsewhere", "[simulate]") {
  Cluster cluster({.nodes = 2});
  const JobId job = cluster.submit(whole_node);
  cluster.scheduler->advance(5s);
  cluster.scheduler->fail_node("n1");
  CHECK(cluster.ended == std::vector{JobState::node_failed});
  CHECK(cluster.report(job).front().state == JobState::pending);
  CHECK(cluster.report(job).front().reason == "BeginTime");
  cluster.scheduler->advance(119s);
  CHECK(cluster.started.size() == 1);
  cluster.scheduler->advance(1s);
  REQUIRE(cluster.started.size() == 2);
  CHECK(cluster.started[1].restart == 1);
  CHECK(cluster.started[1].nodes == std::vector<std::string>{"n2"});
  cluster.scheduler->advance(10s);
  CHECK(cluster.report(job).front().state == JobState::completed);
}

TEST_CASE("FakeScheduler: without requeueing a failed node ends its tasks", "[simulate]") {
  Cluster cluster({.nodes = 1, .requeue = Requeue::no});
  const JobId job = cluster.submit();
  cluster.scheduler->advance(5s);
  cluster.scheduler->fail_node("n1");
  CHECK(cluster.report(job).front().state == JobState::node_failed);
  const JobId later = cluster.submit();
  cluster.scheduler->advance(1h);
  CHECK(cluster.report(later).front().state == JobState::pending);
  cluster.scheduler->repair_node("n1");
  CHECK(cluster.scheduler->run_until_idle(1min));
  CHECK(cluster.report(later).front().state == JobState::completed);
}

TEST_CASE("FakeScheduler: a preempted task is started again", "[simulate]") {
  Cluster cluster;
  const JobId job = cluster.submit("", std::int64_t{2});
  cluster.scheduler->advance(5s);
  cluster.scheduler->preempt(job, 1);
  CHECK(cluster.ended == std::vector{JobState::preempted});
  CHECK(cluster.scheduler->run_until_idle(10min));
  CHECK(cluster.ended ==
        std::vector{JobState::preempted, JobState::completed, JobState::completed});
  CHECK(cluster.started.back().restart == 1);
  CHECK(cluster.started.back().task == 1);
}

TEST_CASE("FakeScheduler: what a task does may use the scheduler and take time", "[simulate]") {
  TemporaryDirectory scratch;
  std::ofstream(scratch.path() / "job.sh") << "#!/bin/sh\n";
  const auto request = [&](const std::string& name, std::vector<JobId> after) {
    return JobRequest{.name = name,
                      .script = (scratch.path() / "job.sh").string(),
                      .workdir = scratch.path().string(),
                      .array_tasks = std::nullopt,
                      .array_at_once = std::nullopt,
                      .after_any = std::move(after),
                      .begin = std::nullopt};
  };
  ManualClock clock;
  FakeScheduler* scheduler = nullptr;
  std::vector<std::string> order;
  FakeClusterOptions options;
  options.behaviour = [&](const FakeTask& task) {
    return FakeRun{
        .duration = 10s, .ending = JobState::completed, .at_end = [&, name = task.name](JobState) {
          order.push_back(name);
          if (name != "first") return;
          clock.advance(30s);  // a reducer that waits for files
          REQUIRE(scheduler->cancel({2}));
          REQUIRE(scheduler->submit(request("third", {})));
        }};
  };
  FakeScheduler fake(clock, options);
  scheduler = &fake;
  REQUIRE(fake.submit(request("first", {})));
  REQUIRE(fake.submit(request("second", {{1}})));
  CHECK(fake.run_until_idle(10min));
  CHECK(order == std::vector<std::string>{"first", "third"});
  CHECK(clock.now() == ManualClock::evening + 50s);
}

TEST_CASE("fake: a user's jobs are limited, array tasks counted one by one", "[simulate]") {
  Cluster cluster({.submit_jobs_max = 5});
  const JobId four = cluster.submit("", 4);
  (void)cluster.submit();
  const JobRequest one = cluster.scheduler->request_of(four);
  const auto refused = cluster.scheduler->submit(one);
  REQUIRE_FALSE(refused);
  CHECK(refused.error().kind == ErrorKind::invalid_input);
  CHECK(cluster.scheduler->run_until_idle(1h));
  CHECK(cluster.scheduler->submit(one));
}
