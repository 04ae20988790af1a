// SPDX-License-Identifier: MIT
#include <thread>

#include "slurmtune/execute/local/local_scheduler.hpp"

#include "tests/contract/scheduler_contract.hpp"
#include "tests/support/temporary_directory.hpp"

namespace {

using namespace slurmtune;
using namespace std::chrono_literals;

LocalOptions options() {
  LocalOptions options;
  options.tasks_at_once = 8;  // the contract has jobs run side by side
  options.grace = 500ms;
  return options;
}

class LocalUnderTest final : public SchedulerUnderTest {
 public:
  Scheduler& scheduler() override { return local_; }
  bool wait_until(const std::function<bool()>& done) override {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!done()) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      static_cast<void>(local_.step());
      std::this_thread::sleep_for(5ms);
    }
    return true;
  }
  std::string directory() override { return scratch_.path().string(); }
  std::string directives() override { return "#SBATCH --output=/dev/null\n"; }
  Instant now() override {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  }
  [[nodiscard]] bool has_partitions() const override { return false; }

 private:
  TemporaryDirectory scratch_;
  LocalScheduler local_{options()};
};

std::unique_ptr<SchedulerUnderTest> make_local() { return std::make_unique<LocalUnderTest>(); }

}  // namespace

SLURMTUNE_SCHEDULER_CONTRACT("the local scheduler", make_local)
