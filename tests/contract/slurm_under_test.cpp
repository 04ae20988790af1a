// SPDX-License-Identifier: MIT
#include "tests/contract/slurm_under_test.hpp"

#include <chrono>
#include <thread>

#include <unistd.h>

#include "slurmtune/execute/process.hpp"

#include "tests/support/temporary_directory.hpp"

namespace slurmtune {
namespace {

using namespace std::chrono_literals;

class SlurmUnderTest final : public SchedulerUnderTest {
 public:
  explicit SlurmUnderTest(std::unique_ptr<Scheduler> scheduler)
      : scheduler_(std::move(scheduler)) {}
  ~SlurmUnderTest() override {
    const auto cancelled = run_process(
        {.call = {.argv = {"scancel", "--quiet", "--user=" + std::to_string(::geteuid())},
                  .environment = {},
                  .workdir = ""},
         .input = ""});
    static_cast<void>(cancelled);  // the cluster may be gone
  }

  Scheduler& scheduler() override { return *scheduler_; }
  bool wait_until(const std::function<bool()>& done) override {
    const auto deadline = std::chrono::steady_clock::now() + 60s;
    while (!done()) {
      if (std::chrono::steady_clock::now() >= deadline) return false;
      std::this_thread::sleep_for(100ms);
    }
    return true;
  }
  std::string directory() override { return scratch_.path().string(); }
  std::string directives() override { return "#SBATCH --output=/dev/null\n"; }
  Instant now() override {
    return std::chrono::floor<std::chrono::milliseconds>(std::chrono::system_clock::now());
  }

 private:
  TemporaryDirectory scratch_;
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace

std::unique_ptr<SchedulerUnderTest> make_slurm_under_test(SlurmClient client) {
  ClientChoice choice;
  choice.client = client;
  auto scheduler = make_slurm_scheduler(choice);
  if (!scheduler) FAIL(scheduler.error().message);
  return std::make_unique<SlurmUnderTest>(*std::move(scheduler));
}

}  // namespace slurmtune
