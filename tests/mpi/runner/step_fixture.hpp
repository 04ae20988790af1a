// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <vector>

#include <fmt/format.h>

#include "tests/mpi/runner/task_fixture.hpp"

/// A runner with one rank on each node of a job of its own on the test cluster, started as the
/// study's job scripts do it. Trials are of two ranks on two nodes unless something else is said.
class StepFixture : public TaskFixture {
 public:
  explicit StepFixture(const std::vector<Trial>& trials, const std::string& more = "")
      : StepFixture(trials, {.launcher = "srun", .more = more, .nodes = 2, .processes_per_node = 1},
                    2) {}
  StepFixture(const std::vector<Trial>& trials, const Options& options, int nodes)
      : TaskFixture(trials, options) {
    prefix = {"salloc", "--quiet", "--job-name=" + name(), fmt::format("-N{}", nodes),
              "--exclusive"};
    // As the study's job scripts do it.
    environment["SLURM_PMIX_FENCE"] = "tree";
    prefix.insert(prefix.end(),
                  {"srun", "--mpi=pmix", fmt::format("-N{}", nodes), fmt::format("-n{}", nodes),
                   "--cpu-bind=none", "--overlap", "--mem=0", "--kill-on-bad-exit=1"});
  }
};
