// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

#include "slurmtune/execute/process.hpp"
#include "slurmtune/record/manifest.hpp"
#include "slurmtune/record/verdict.hpp"

#include "tests/support/temporary_directory.hpp"

/// A study with one stage, whose trials are tests/mpi/runner/trial.sh in the modes that are asked.
/// It stays what the test makes of it: a directory of its own, gone with the object.
class TaskFixture {
 public:
  struct Trial {
    std::string mode;
    slurmtune::TrialLimits limits{30.0, 20.0, 60.0};
  };
  struct Options {
    std::string launcher = "mpirun";
    std::vector<std::string> command = {};  ///< empty = trial.sh with the mode
    std::string more = {};                  ///< further keys of [trial]
    int nodes = 1;
    int processes_per_node = 2;
    int lanes = 1;
    std::string source = "metrics_file";  ///< measure.source
    std::string ds_config = {};           ///< contents of the study's inputs/ds_config.json
  };

  explicit TaskFixture(const std::vector<Trial>& trials) : TaskFixture(trials, Options()) {}
  TaskFixture(const std::vector<Trial>& trials, const Options& options);

  /// What the runner was, and said, when it ran slice 0 (or another) to its end.
  slurmtune::ProcessResult run(const std::vector<std::string>& more_arguments = {});
  /// The same, not waited for.
  slurmtune::ChildProcess start();

  /// A name that no other test has.
  [[nodiscard]] std::string name() const { return directory_.path().filename().string(); }

  /// The shard of a restart.
  [[nodiscard]] std::optional<slurmtune::Shard> shard(int restart = 0) const;
  /// The verdict of the trial with this mode in the first shard.
  [[nodiscard]] slurmtune::Verdict verdict(const std::string& mode, int restart = 0) const;
  /// The log of the trial with this mode, "" without one.
  [[nodiscard]] std::string log(const std::string& mode) const;
  /// A file in the work directory of that trial.
  [[nodiscard]] std::string work_file(const std::string& mode, const std::string& name) const;

  /// Processes of the runner and its trials, as they are now: those with our mark in their
  /// environment. `name` is what the kernel calls them; "" = all.
  [[nodiscard]] std::vector<pid_t> processes(const std::string& name = "") const;
  /// What is left of them after at most `patience`.
  [[nodiscard]] std::vector<pid_t> leftovers(
      std::chrono::milliseconds patience = std::chrono::seconds(2)) const;
  /// True once the trial with this mode has written a line of metrics; waits up to 30 seconds.
  [[nodiscard]] bool wait_for_steps(const std::string& mode) const;

  /// Words before the runner's own: an mpirun around it.
  std::vector<std::string> prefix;
  std::map<std::string, std::string> environment;

 private:
  [[nodiscard]] std::vector<std::string> argv(const std::vector<std::string>& more) const;
  [[nodiscard]] std::vector<std::string> full_environment() const;
  [[nodiscard]] std::string stage_file(const std::string& name) const;

  TemporaryDirectory directory_;
  std::string mark_;
  std::map<std::string, std::string> experiments_;  ///< id by mode
};
