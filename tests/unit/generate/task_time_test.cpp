// SPDX-License-Identifier: MIT
#include "slurmtune/generate/task_time.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;

TEST_CASE("trial_limits: total_s is derived only if it is not given", "[generate]") {
  MeasureSpec measure;
  measure.startup_s = 900.0;
  measure.stall_s = 180.0;
  measure.max_steps = 40;
  CHECK(trial_limits(measure) == TrialLimits{900.0, 180.0, 1200.0});
  measure.total_s = 300.0;
  CHECK(trial_limits(measure) == TrialLimits{900.0, 180.0, 300.0});
}

TEST_CASE("task_walltime_s: holds the experiments that it was made for, in whole minutes",
          "[generate]") {
  const TrialLimits limits{30.0, 10.0, 47.0};
  for (int lanes = 1; lanes <= 4; ++lanes) {
    for (std::int64_t experiments = 1; experiments <= 40; ++experiments) {
      const std::int64_t walltime = task_walltime_s(experiments, lanes, limits);
      CHECK(walltime % 60 == 0);
      CHECK(experiments_that_fit(walltime, lanes, limits) >= experiments);
      // and is not longer than it must be: a minute less holds fewer
      CHECK(experiments_that_fit(walltime - 60, lanes, limits) <
            (experiments + lanes - 1) / lanes * lanes);
    }
  }
}

TEST_CASE("experiments_that_fit: a task shorter than one trial holds none", "[generate]") {
  CHECK(experiments_that_fit(600, 2, TrialLimits{900.0, 180.0, 1200.0}) == 0);
  CHECK(experiments_that_fit(0, 2, TrialLimits{900.0, 180.0, 1200.0}) == 0);
}
