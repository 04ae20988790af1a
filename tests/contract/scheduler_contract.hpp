// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "slurmtune/study/scheduler.hpp"

#include "tests/support/catch.hpp"

namespace slurmtune {

/// One batch system, ready to take jobs, and the passing of its time. Each check gets its own from
/// a factory; a real cluster may be shared behind it. The destructor cancels what is left.
class SchedulerUnderTest {
 public:
  SchedulerUnderTest() = default;
  SchedulerUnderTest(const SchedulerUnderTest&) = delete;
  SchedulerUnderTest& operator=(const SchedulerUnderTest&) = delete;
  virtual ~SchedulerUnderTest() = default;

  [[nodiscard]] virtual Scheduler& scheduler() = 0;

  /// Lets time pass until `done()` holds; false if it still does not after a time in which a batch
  /// system surely schedules what it can, and runs jobs of a few seconds.
  [[nodiscard]] virtual bool wait_until(const std::function<bool()>& done) = 0;

  /// Writable, absolute; job scripts are put there, and jobs run there.
  [[nodiscard]] virtual std::string directory() = 0;

  /// `#SBATCH` lines that jobs need on this system (`#SBATCH --output=/dev/null`), each with its
  /// newline.
  [[nodiscard]] virtual std::string directives() { return ""; }

  /// The time of this system; begin times are set by it.
  [[nodiscard]] virtual Instant now() = 0;

  /// Whether jobs are put into partitions; a local one has none to refuse.
  [[nodiscard]] virtual bool has_partitions() const { return true; }
};

using MakeScheduler = std::function<std::unique_ptr<SchedulerUnderTest>()>;

// The contract of study/scheduler.hpp, in parts. Call them through the macro below.
namespace scheduler_contract {

void jobs(const MakeScheduler& make);          ///< submit, report, end, exit codes
void lookups(const MakeScheduler& make);       ///< find by name; unknown jobs
void refusals(const MakeScheduler& make);      ///< invalid_input, and nothing left behind
void arrays(const MakeScheduler& make);        ///< tasks, throttle
void dependencies(const MakeScheduler& make);  ///< after_any, begin
void cancelling(const MakeScheduler& make);    ///< jobs, tasks, what is over, what waits

}  // namespace scheduler_contract

}  // namespace slurmtune

/// Defines the test cases for one implementation: a name as a string literal, and a MakeScheduler.
/// Compile scheduler_contract.cpp into the same test.
// NOLINTBEGIN(cppcoreguidelines-macro-usage): TEST_CASE needs literals.
#define SLURMTUNE_SCHEDULER_CONTRACT(subject, make)                                            \
  TEST_CASE(subject ": jobs run and are reported until they end", "[contract]") {              \
    slurmtune::scheduler_contract::jobs(make);                                                 \
  }                                                                                            \
  TEST_CASE(subject ": jobs are found by name, unknown ones are left out", "[contract]") {     \
    slurmtune::scheduler_contract::lookups(make);                                              \
  }                                                                                            \
  TEST_CASE(subject ": what is refused is an error and leaves nothing behind", "[contract]") { \
    slurmtune::scheduler_contract::refusals(make);                                             \
  }                                                                                            \
  TEST_CASE(subject ": arrays run every task, no more at once than they may", "[contract]") {  \
    slurmtune::scheduler_contract::arrays(make);                                               \
  }                                                                                            \
  TEST_CASE(subject ": jobs wait for others to end, and for their time", "[contract]") {       \
    slurmtune::scheduler_contract::dependencies(make);                                         \
  }                                                                                            \
  TEST_CASE(subject ": cancelling ends what it names and nothing else", "[contract]") {        \
    slurmtune::scheduler_contract::cancelling(make);                                           \
  }
// NOLINTEND(cppcoreguidelines-macro-usage)
