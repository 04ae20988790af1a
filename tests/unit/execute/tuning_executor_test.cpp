// SPDX-License-Identifier: MIT
#include "slurmtune/execute/tuning_executor.hpp"

#include <deque>
#include <map>

#include "tests/support/catch.hpp"

using namespace slurmtune;
using namespace std::chrono_literals;

namespace {

/// A batch system whose next answers are written down beforehand.
class Scripted final : public Scheduler {
 public:
  enum class Next { answer, lose_answer, lose_request, refuse };
  std::deque<Next> plan;
  std::map<std::string, JobId> jobs;
  int submits = 0;
  int queries = 0;
  int cancels = 0;
  int accountings = 0;
  bool has_accounting = false;
  std::function<void()> before_answer{};
  std::vector<JobReport> accounted{};

  Expected<JobId> submit(const JobRequest& job) override {
    ++submits;
    const Next next = pop();
    if (next == Next::refuse) return invalid_input("no such partition");
    if (next == Next::lose_request) return unavailable("timed out");
    jobs[job.name] = JobId{100 + submits};
    if (next == Next::lose_answer) return unavailable("timed out");
    return jobs[job.name];
  }
  Expected<std::optional<JobId>> find(const std::string& name) override {
    if (pop() != Next::answer) return unavailable("timed out");
    const auto found = jobs.find(name);
    return found == jobs.end() ? std::optional<JobId>() : std::optional(found->second);
  }
  Expected<std::vector<JobReport>> report(std::span<const JobId> asked) override {
    ++queries;
    if (before_answer) before_answer();
    if (pop() != Next::answer) return unavailable("timed out");
    std::vector<JobReport> reports;
    for (const JobId job : asked) {
      reports.push_back({.job = job,
                         .task = {},
                         .name = "",
                         .state = JobState::running,
                         .reason = "",
                         .nodes = ""});
    }
    return reports;
  }
  Expected<std::vector<JobReport>> accounting(std::span<const JobId>) override {
    ++accountings;
    if (!has_accounting) return unavailable("Slurm accounting storage is disabled");
    return accounted;
  }
  Expected<void> exclude_nodes(JobId job, const std::string&) override { return cancel(job); }
  Expected<void> cancel(JobId) override {
    ++cancels;
    if (pop() != Next::answer) return unavailable("timed out");
    return {};
  }
  Expected<void> cancel_tasks(JobId job, std::int64_t, std::int64_t) override {
    return cancel(job);
  }
  [[nodiscard]] std::string description() const override { return "scripted"; }

 private:
  Next pop() {
    if (plan.empty()) return Next::answer;
    const Next next = plan.front();
    plan.pop_front();
    return next;
  }
};

struct Bench {
  Bench() : Bench(ExecutorOptions{}) {}
  explicit Bench(ExecutorOptions options) {
    options.retry.attempts_max = 3;
    options.sleep = [this](std::chrono::milliseconds pause) { pauses.push_back(pause); };
    options.now = [this] { return now; };
    auto made = std::make_unique<Scripted>();
    scheduler = made.get();
    executor = std::make_unique<TuningExecutor>(std::move(made), options);
  }
  std::vector<std::chrono::milliseconds> pauses;
  Instant now{};
  Scripted* scheduler = nullptr;
  std::unique_ptr<TuningExecutor> executor;
};

JobRequest named(const std::string& name) {
  JobRequest job;
  job.name = name;
  return job;
}

using Next = Scripted::Next;

}  // namespace

TEST_CASE("TuningExecutor: a lost answer is found by its name", "[execute]") {
  Bench bench;
  bench.scheduler->plan = {Next::lose_answer};
  CHECK(bench.executor->submit(named("a")) == JobId{101});
  CHECK(bench.scheduler->submits == 1);
  CHECK(bench.pauses.size() == 1);
}

TEST_CASE("TuningExecutor: a lost request is sent again", "[execute]") {
  Bench bench;
  bench.scheduler->plan = {Next::lose_request, Next::answer, Next::lose_request, Next::answer};
  CHECK(bench.executor->submit(named("a")) == JobId{103});
  CHECK(bench.scheduler->submits == 3);
}

TEST_CASE("TuningExecutor: without a look-up it does not submit again", "[execute]") {
  Bench bench;
  bench.scheduler->plan = {Next::lose_answer, Next::lose_answer, Next::lose_answer,
                           Next::lose_answer};
  const auto job = bench.executor->submit(named("a"));
  REQUIRE_FALSE(job);
  CHECK(job.error().kind == ErrorKind::unavailable);
  CHECK(job.error().message == "timed out; whether the job a was submitted is not known");
  CHECK(bench.scheduler->submits == 1);
}

TEST_CASE("TuningExecutor: a refusal is final", "[execute]") {
  Bench bench;
  bench.scheduler->plan = {Next::refuse};
  const auto job = bench.executor->submit(named("a"));
  REQUIRE_FALSE(job);
  CHECK(job.error() == Error{ErrorKind::invalid_input, "no such partition"});
  CHECK(bench.pauses.empty());
}

TEST_CASE("TuningExecutor: no two queries within the interval", "[execute]") {
  Bench bench;
  const std::vector<JobId> jobs{JobId{1}, JobId{2}};
  REQUIRE(bench.executor->report(jobs));
  bench.now += 29s;
  const std::vector<JobId> one{JobId{2}};
  const auto again = bench.executor->report(one);
  REQUIRE(again);
  REQUIRE(again->size() == 1);
  CHECK(again->front().job == JobId{2});
  CHECK(bench.scheduler->queries == 1);
  bench.now += 1s;
  REQUIRE(bench.executor->report(one));
  CHECK(bench.scheduler->queries == 2);
}

TEST_CASE("TuningExecutor: a job that the last answer does not cover is asked for", "[execute]") {
  Bench bench;
  const std::vector<JobId> one{JobId{1}};
  const std::vector<JobId> other{JobId{2}};
  REQUIRE(bench.executor->report(one));
  REQUIRE(bench.executor->report(other));
  CHECK(bench.scheduler->queries == 2);
}

TEST_CASE("TuningExecutor: queries and cancellations are repeated, within bounds", "[execute]") {
  Bench bench;
  bench.scheduler->plan = {Next::lose_answer, Next::answer};
  CHECK(bench.executor->cancel(JobId{1}));
  CHECK(bench.scheduler->cancels == 2);
  bench.scheduler->plan = {Next::lose_answer, Next::lose_answer, Next::lose_answer};
  const std::vector<JobId> jobs{JobId{1}};
  CHECK(bench.executor->report(jobs).error().kind == ErrorKind::unavailable);
  CHECK(bench.scheduler->queries == 3);
}

TEST_CASE("Backoff: pauses double up to a bound, with jitter", "[execute]") {
  std::vector<std::chrono::milliseconds> pauses;
  Backoff backoff({.attempts_max = 7, .first_pause = 1s, .pause_max = 8s}, Seed{1},
                  [&](std::chrono::milliseconds pause) { pauses.push_back(pause); });
  int attempts = 0;
  while (backoff.next()) ++attempts;
  CHECK(attempts == 7);
  REQUIRE(pauses.size() == 6);
  const std::vector<std::chrono::milliseconds> most{1s, 2s, 4s, 8s, 8s, 8s};
  for (std::size_t i = 0; i < most.size(); ++i) {
    CHECK(pauses[i] >= most[i] / 2);
    CHECK(pauses[i] <= most[i]);
  }
  CHECK(pauses[4] != pauses[5]);
}

TEST_CASE("TuningExecutor: a job that was just submitted costs no second query", "[execute]") {
  Bench bench;
  const std::vector<JobId> one{{7}};
  REQUIRE(bench.executor->report(one));
  const auto added = bench.executor->submit(named("b"));
  REQUIRE(added);
  const std::vector<JobId> both{{7}, *added};
  const auto reports = bench.executor->report(both);
  REQUIRE(reports);
  REQUIRE(reports->size() == 2);
  CHECK(reports->back().job == *added);
  CHECK(reports->back().state == JobState::pending);
  CHECK(bench.scheduler->queries == 1);
  CHECK(bench.executor->report_anew(both));
  CHECK(bench.scheduler->queries == 2);
}

TEST_CASE("TuningExecutor: accounting that does not answer is asked once", "[execute]") {
  Bench bench;
  const std::vector<JobId> one{{7}};
  const auto first = bench.executor->accounting(one);
  REQUIRE_FALSE(first);
  bench.scheduler->has_accounting = true;
  CHECK(bench.executor->accounting(one).error() == first.error());
  CHECK(bench.scheduler->accountings == 1);
}

TEST_CASE("TuningExecutor: patience is one for all questions, until there is an answer",
          "[execute]") {
  ExecutorOptions options;
  options.patience = 15s;
  Bench bench(options);
  const std::vector<JobId> one{{7}};
  // Each question takes its time, as that of a client does that waits for its time-out.
  bench.scheduler->before_answer = [&] { bench.now += 9s; };
  bench.scheduler->plan = {Next::lose_request, Next::lose_request, Next::lose_request};
  CHECK_FALSE(bench.executor->report(one));
  CHECK(bench.scheduler->queries == 2);
  CHECK_FALSE(bench.executor->report(one));
  CHECK(bench.scheduler->queries == 3);  // tried once more, and no more than that
  CHECK(bench.executor->report(one));
  bench.scheduler->plan = {Next::lose_request, Next::answer};
  bench.now += 1h;
  CHECK(bench.executor->report(one));
}

TEST_CASE("No more jobs are submitted a minute than the centre allows", "[execute]") {
  auto scheduler = std::make_unique<Scripted>();
  Instant now{};
  std::vector<Instant> at;
  ExecutorOptions options;
  options.submits_per_minute = 3;
  options.now = [&] { return now; };
  options.sleep = [&](std::chrono::milliseconds span) { now += span; };
  TuningExecutor executor(std::move(scheduler), options);
  for (int i = 0; i < 7; ++i) {
    JobRequest job;
    job.name = "j" + std::to_string(i);
    REQUIRE(executor.submit(job));
    at.push_back(now);
    now += 5s;
  }
  CHECK(at[2] - at[0] == 10s);
  CHECK(at[3] - at[0] == 60s);
  CHECK(at[6] - at[3] == 60s);
}
