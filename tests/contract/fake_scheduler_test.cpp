// SPDX-License-Identifier: MIT
#include "slurmtune/simulate/fake_scheduler.hpp"

#include "tests/contract/scheduler_contract.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using namespace slurmtune;

class FakeUnderTest final : public SchedulerUnderTest {
 public:
  Scheduler& scheduler() override { return fake_; }
  bool wait_until(const std::function<bool()>& done) override {
    return fake_.run_until(done, std::chrono::minutes(1));
  }
  std::string directory() override { return scratch_.path().string(); }
  Instant now() override { return clock_.now(); }

 private:
  TemporaryDirectory scratch_;
  ManualClock clock_;
  FakeScheduler fake_{clock_};
};

std::unique_ptr<SchedulerUnderTest> make_fake() { return std::make_unique<FakeUnderTest>(); }

}  // namespace

SLURMTUNE_SCHEDULER_CONTRACT("the fake scheduler", make_fake)
