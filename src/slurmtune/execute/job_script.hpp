// SPDX-License-Identifier: MIT
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/site.hpp"
#include "slurmtune/plan/plan.hpp"
#include "slurmtune/record/ids.hpp"
#include "slurmtune/study/event.hpp"

namespace slurmtune {

/// Everything that a job script says. It is a function of this alone, so that a script that is
/// rendered again is the same to the byte.
struct JobScript {
  JobKind kind = JobKind::array;
  Site site;
  std::string study_dir;   ///< absolute
  std::string study_id;    ///< for Slurm's comment; "" = none
  std::string study_name;  ///< for the comment at its head
  std::string origin;      ///< absolute directory of the user's study.toml
  std::string job_name;    ///< of attempt 0; a later one is named on the command line
  StageName stage;         ///< arrays and reducers

  std::chrono::seconds walltime{600};

  // Arrays, and of the rest a job that holds a whole study.
  std::optional<StageName> previous;  ///< its decision is made first if its reducer died
  std::int64_t tasks = 1;
  std::int64_t first_slice = 0;  ///< of task 0
  int nodes_per_task = 1;
  int processes_per_node = 1;  ///< of its trials: what a task asks for where it shares its nodes
  /// A task has one walltime in all, however often it is started again: there is a budget.
  bool has_budget = false;
};

/// The script of a stage's array at its planned size.
[[nodiscard]] JobScript array_script(JobScript common, const PlannedStage& stage);

/// `stages/<stage>/array.sbatch`, `stages/<stage>/reduce.sbatch`, `guard.sbatch`, `final.sbatch`,
/// `one-job.sbatch`, `launch.sbatch` below the study directory, absolute. A part of an array that
/// was split is `array.<slice>.sbatch`.
[[nodiscard]] std::string script_path(const JobScript& script);

/// The directory, absolute, that the job's output goes to; it must exist, or Slurm fails the job.
[[nodiscard]] std::string log_directory(const JobScript& script);

/// Fills in scripts/sbatch/<kind>.sbatch.
/// Errors: invalid_input for values that cannot stand in a #SBATCH line (see parse_site_option),
/// for a path that is not absolute or holds a newline, and for site options that are ours to set.
[[nodiscard]] Expected<std::string> render_job_script(const JobScript& script);

/// Where a runner is started by hand, inside an allocation.
struct LaunchPlace {
  int nodes = 1;
  int cpus = 1;  ///< of one node
};

/// The argv that starts one runner rank a node, before the runner's own: site.runner_launch, or
/// what job scripts use without it.
[[nodiscard]] std::vector<std::string> runner_launch_words(const Site& site, LaunchPlace place);

}  // namespace slurmtune
