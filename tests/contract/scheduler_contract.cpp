// SPDX-License-Identifier: MIT
#include "tests/contract/scheduler_contract.hpp"

#include <algorithm>
#include <chrono>
#include <fstream>
#include <set>
#include <vector>

#include <fmt/format.h>

namespace slurmtune::scheduler_contract {

namespace {

/// Long enough to be seen running, and ended by the test.
constexpr double until_cancelled_s = 300.0;
/// A number that no batch system has come to.
constexpr JobId never_submitted{999'999'999};

/// What the checks ask of a batch system, without the words.
class Harness {
 public:
  explicit Harness(const MakeScheduler& make) : system_(make()) {}

  [[nodiscard]] Scheduler& scheduler() { return system_->scheduler(); }
  [[nodiscard]] SchedulerUnderTest& system() { return *system_; }

  /// A job whose script sleeps and then exits. Its name is unique in this process.
  [[nodiscard]] JobRequest request(double seconds, int exit_code = 0,
                                   const std::string& further_directives = "") {
    static int number = 0;
    JobRequest job;
    job.name = fmt::format("contract-{}-{}", system_->now().time_since_epoch().count(), ++number);
    job.script = fmt::format("{}/{}.sh", system_->directory(), job.name);
    job.workdir = system_->directory();
    std::ofstream(job.script) << "#!/bin/sh\n"
                              << system_->directives() << further_directives
                              << fmt::format("sleep {}\nexit {}\n", seconds, exit_code);
    return job;
  }

  [[nodiscard]] JobId submit(const JobRequest& job) {
    const auto id = scheduler().submit(job);
    if (!id) FAIL(id.error().message);
    return *id;
  }

  [[nodiscard]] std::optional<JobId> find(const std::string& name) {
    const auto found = scheduler().find(name);
    if (!found) FAIL(found.error().message);
    return *found;
  }

  [[nodiscard]] std::vector<JobReport> reports(std::vector<JobId> jobs) {
    const auto found = scheduler().report(jobs);
    if (!found) FAIL(found.error().message);
    return *found;
  }

  /// Whether no task of the job runs or will run: all that is reported is over.
  [[nodiscard]] bool is_over(JobId job) {
    const auto found = reports({job});
    return std::all_of(found.begin(), found.end(),
                       [](const JobReport& r) { return slurmtune::is_over(r.state); });
  }
  [[nodiscard]] bool wait_until_over(JobId job) {
    return system_->wait_until([&] { return is_over(job); });
  }

  [[nodiscard]] bool is_running(JobId job, std::optional<std::int64_t> task = std::nullopt) {
    const auto found = reports({job});
    return std::any_of(found.begin(), found.end(), [&](const JobReport& r) {
      return r.state == JobState::running && (!task || r.task == task);
    });
  }
  [[nodiscard]] bool wait_until_running(JobId job, std::optional<std::int64_t> task = {}) {
    return system_->wait_until([&] { return is_running(job, task); });
  }

  /// Tasks that are reported as running.
  [[nodiscard]] std::set<std::int64_t> running_tasks(JobId job) {
    std::set<std::int64_t> tasks;
    for (const JobReport& r : reports({job})) {
      if (r.state == JobState::running && r.task) tasks.insert(*r.task);
    }
    return tasks;
  }

  /// The state of a single job, if it is still reported.
  [[nodiscard]] std::optional<JobState> state(JobId job) {
    const auto found = reports({job});
    if (found.empty()) return std::nullopt;
    return found.front().state;
  }

 private:
  std::unique_ptr<SchedulerUnderTest> system_;
};

}  // namespace

void jobs(const MakeScheduler& make) {
  Harness harness(make);
  SECTION("a job is reported with its name until it has ended well") {
    const JobRequest request = harness.request(1.0);
    const JobId job = harness.submit(request);
    CHECK(job.number > 0);
    const auto found = harness.reports({job});
    REQUIRE(found.size() == 1);
    CHECK(found.front().job == job);
    CHECK(found.front().name == request.name);
    CHECK_FALSE(found.front().task);
    REQUIRE(harness.wait_until_over(job));
    // A controller may have forgotten it by now, but must not say anything else.
    CHECK(harness.state(job).value_or(JobState::completed) == JobState::completed);
  }
  SECTION("an exit code other than 0 is a failure") {
    const JobId job = harness.submit(harness.request(0.1, 3));
    REQUIRE(harness.wait_until_over(job));
    CHECK(harness.state(job).value_or(JobState::failed) == JobState::failed);
  }
  SECTION("a running job is on a node") {
    const JobId job = harness.submit(harness.request(until_cancelled_s));
    REQUIRE(harness.wait_until_running(job));
    CHECK_FALSE(harness.reports({job}).front().nodes.empty());
    CHECK(harness.scheduler().cancel(job));
  }
  SECTION("one query tells of many jobs") {
    const JobId first = harness.submit(harness.request(until_cancelled_s));
    const JobId second = harness.submit(harness.request(until_cancelled_s));
    CHECK(first != second);
    std::set<JobId> seen;
    for (const JobReport& report : harness.reports({first, second})) seen.insert(report.job);
    CHECK(seen == std::set<JobId>{first, second});
    CHECK(harness.scheduler().cancel(first));
    CHECK(harness.scheduler().cancel(second));
  }
  SECTION("it says what it is") { CHECK_FALSE(harness.scheduler().description().empty()); }
}

void lookups(const MakeScheduler& make) {
  Harness harness(make);
  SECTION("a job is found by its name") {
    const JobRequest request = harness.request(until_cancelled_s);
    const JobId job = harness.submit(request);
    CHECK(harness.find(request.name) == job);
    CHECK(harness.find(request.name + "x") == std::nullopt);
    CHECK(harness.scheduler().cancel(job));
  }
  SECTION("an array is found by its name, as a whole") {
    JobRequest request = harness.request(until_cancelled_s);
    request.array_tasks = 3;
    const JobId job = harness.submit(request);
    CHECK(harness.find(request.name) == job);
    CHECK(harness.scheduler().cancel(job));
  }
  SECTION("of several jobs of a name the newest is found") {
    const JobRequest request = harness.request(until_cancelled_s);
    const JobId first = harness.submit(request);
    const JobId second = harness.submit(request);
    CHECK(harness.find(request.name) == second);
    CHECK(harness.scheduler().cancel(first));
    CHECK(harness.scheduler().cancel(second));
  }
  SECTION("jobs that the controller does not know are left out") {
    CHECK(harness.reports({never_submitted}).empty());
    const JobId job = harness.submit(harness.request(until_cancelled_s));
    const auto found = harness.reports({never_submitted, job});
    REQUIRE(found.size() == 1);
    CHECK(found.front().job == job);
    CHECK(harness.scheduler().cancel(job));
  }
  SECTION("asking for nothing is answered with nothing") { CHECK(harness.reports({}).empty()); }
}

void refusals(const MakeScheduler& make) {
  Harness harness(make);
  SECTION("an array without tasks") {
    JobRequest request = harness.request(0.1);
    request.array_tasks = 0;
    const auto refused = harness.scheduler().submit(request);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::invalid_input);
    CHECK(harness.find(request.name) == std::nullopt);
  }
  SECTION("a script that is not there") {
    JobRequest request = harness.request(0.1);
    request.script += ".absent";
    const auto refused = harness.scheduler().submit(request);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::invalid_input);
    CHECK(harness.find(request.name) == std::nullopt);
  }
  SECTION("a partition that does not exist, in the batch system's words") {
    if (!harness.system().has_partitions()) return;
    const JobRequest request = harness.request(0.1, 0, "#SBATCH --partition=no_such_partition\n");
    const auto refused = harness.scheduler().submit(request);
    REQUIRE_FALSE(refused);
    CHECK(refused.error().kind == ErrorKind::invalid_input);
    CHECK_THAT(refused.error().message, Catch::Matchers::Contains("artition"));
    CHECK(harness.find(request.name) == std::nullopt);
  }
}

void arrays(const MakeScheduler& make) {
  Harness harness(make);
  SECTION("every task runs, and the array is over when all have ended") {
    JobRequest request = harness.request(0.2);
    request.array_tasks = 5;
    const JobId job = harness.submit(request);
    REQUIRE(harness.wait_until_over(job));
    std::set<std::int64_t> ended;
    for (const JobReport& report : harness.reports({job})) {
      CHECK(report.state == JobState::completed);
      if (report.task) ended.insert(*report.task);
    }
    // What is still known must be the tasks 0 to 4.
    const bool all = ended == std::set<std::int64_t>{0, 1, 2, 3, 4};
    CHECK((all || ended.empty()));
  }
  SECTION("a throttle bounds the tasks that run at once") {
    JobRequest request = harness.request(until_cancelled_s);
    request.array_tasks = 4;
    request.array_at_once = 1;
    const JobId job = harness.submit(request);
    REQUIRE(harness.wait_until_running(job));
    CHECK(harness.running_tasks(job) == std::set<std::int64_t>{0});
    // The next one starts when the first is ending, which is still reported as running.
    CHECK(harness.scheduler().cancel_tasks(job, 0, 1));
    REQUIRE(harness.wait_until_running(job, 1));
    CHECK(harness.system().wait_until(
        [&] { return harness.running_tasks(job) == std::set<std::int64_t>{1}; }));
    CHECK(harness.scheduler().cancel(job));
  }
  SECTION("what waits of an array is reported without a task's number") {
    JobRequest request = harness.request(until_cancelled_s);
    request.array_tasks = 3;
    request.array_at_once = 1;
    const JobId job = harness.submit(request);
    REQUIRE(harness.wait_until_running(job, 0));
    const auto found = harness.reports({job});
    const auto waiting = std::count_if(found.begin(), found.end(), [](const JobReport& report) {
      return report.state == JobState::pending && !report.task;
    });
    CHECK(waiting == 1);
    CHECK(harness.scheduler().cancel(job));
  }
}

void dependencies(const MakeScheduler& make) {
  Harness harness(make);
  SECTION("a job starts once the job before it has ended, even badly") {
    const JobId before = harness.submit(harness.request(1.0, 1));
    JobRequest request = harness.request(until_cancelled_s);
    request.after_any = {before};
    const JobId after = harness.submit(request);
    CHECK(harness.state(after) == JobState::pending);
    REQUIRE(harness.wait_until_running(after));
    CHECK(harness.is_over(before));
    CHECK(harness.scheduler().cancel(after));
  }
  SECTION("a job after an array waits for all of its tasks") {
    JobRequest array = harness.request(until_cancelled_s);
    array.array_tasks = 2;
    const JobId before = harness.submit(array);
    JobRequest request = harness.request(0.1);
    request.after_any = {before};
    const JobId after = harness.submit(request);
    REQUIRE(harness.wait_until_running(before));
    CHECK(harness.scheduler().cancel_tasks(before, 0, 1));
    CHECK(harness.state(after) == JobState::pending);
    CHECK(harness.scheduler().cancel_tasks(before, 1, 2));
    CHECK(harness.wait_until_over(after));
  }
  SECTION("a job after a job that was cancelled before it began starts at once") {
    const JobId first = harness.submit(harness.request(until_cancelled_s));
    JobRequest array = harness.request(until_cancelled_s);
    array.array_tasks = 2;
    array.after_any = {first};
    const JobId second = harness.submit(array);
    JobRequest request = harness.request(until_cancelled_s);
    request.after_any = {second};
    const JobId third = harness.submit(request);
    CHECK(harness.scheduler().cancel(second));
    CHECK(harness.wait_until_running(third));
    CHECK(harness.scheduler().cancel(first));
    CHECK(harness.scheduler().cancel(third));
  }
  SECTION("a job does not begin before its time") {
    JobRequest request = harness.request(0.1);
    request.begin = harness.system().now() + std::chrono::hours(1);
    const JobId job = harness.submit(request);
    const JobId other = harness.submit(harness.request(0.1));
    REQUIRE(harness.wait_until_over(other));
    CHECK(harness.state(job) == JobState::pending);
    CHECK(harness.scheduler().cancel(job));
  }
}

void cancelling(const MakeScheduler& make) {
  Harness harness(make);
  SECTION("a running job ends") {
    const JobId job = harness.submit(harness.request(until_cancelled_s));
    REQUIRE(harness.wait_until_running(job));
    REQUIRE(harness.scheduler().cancel(job));
    REQUIRE(harness.wait_until_over(job));
    CHECK(harness.state(job).value_or(JobState::cancelled) == JobState::cancelled);
  }
  SECTION("a job that waits never runs") {
    JobRequest request = harness.request(0.1);
    request.begin = harness.system().now() + std::chrono::hours(1);
    const JobId job = harness.submit(request);
    REQUIRE(harness.scheduler().cancel(job));
    CHECK(harness.wait_until_over(job));
  }
  SECTION("tasks that wait go, those before them stay") {
    const JobId first = harness.submit(harness.request(until_cancelled_s));
    JobRequest request = harness.request(until_cancelled_s);
    request.array_tasks = 5;
    request.after_any = {first};
    const JobId array = harness.submit(request);
    REQUIRE(harness.scheduler().cancel_tasks(array, 1, 5));
    CHECK_FALSE(harness.is_over(array));
    REQUIRE(harness.scheduler().cancel(first));
    REQUIRE(harness.wait_until_running(array, 0));
    for (const JobReport& report : harness.reports({array})) {
      CHECK((report.task == 0 || slurmtune::is_over(report.state)));
    }
    REQUIRE(harness.scheduler().cancel_tasks(array, 0, 1));
    CHECK(harness.wait_until_over(array));
  }
  SECTION("what is over, unknown or beyond the array is no error") {
    const JobId job = harness.submit(harness.request(0.1));
    REQUIRE(harness.wait_until_over(job));
    CHECK(harness.scheduler().cancel(job));
    CHECK(harness.scheduler().cancel(job));
    CHECK(harness.scheduler().cancel(never_submitted));
    JobRequest request = harness.request(0.1);
    request.array_tasks = 2;
    const JobId array = harness.submit(request);
    REQUIRE(harness.wait_until_over(array));
    CHECK(harness.scheduler().cancel_tasks(array, 0, 2));
    CHECK(harness.scheduler().cancel_tasks(array, 1, 1));
  }
}

}  // namespace slurmtune::scheduler_contract
