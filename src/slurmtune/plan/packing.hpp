// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_input.hpp"
#include "slurmtune/record/experiment.hpp"

namespace slurmtune {

/// What the tasks of a study's arrays have in common.
struct TaskRules {
  int lanes = 1;
  int nodes_per_task = 1;
  TrialLimits limits;
  double likely_trial_s = 120.0;  ///< of one experiment
  double min_task_s = 600.0;      ///< a task should last at least this long
  /// Of the site, or the length of budget.window, less job_margin_s.
  std::int64_t walltime_max_s = 86'400;
  std::int64_t job_margin_s = 0;     ///< of a job that holds the study
  bool window_limits = false;        ///< the window is the shorter one
  bool total_is_given = false;       ///< limits.total_s is measure.total_s
  std::string where = "study.toml";  ///< for messages
  std::string limit_where = where;   ///< of what one experiment is too long for or by
};

/// The likely time of one experiment, where nothing was measured yet: a quarter of what it may last
/// at worst, and not above 120 s. Source: the DeepSpeed Autotuner's published runs on 16 V100 took
/// 60 to 230 s an experiment, 127 s for GPT2-large (DeepSpeedExamples, training/autotuning/hf).
[[nodiscard]] double likely_trial_s(const TrialLimits& limits);

/// Inside one job a task ends early enough for the next job of a chain to be told.
[[nodiscard]] TaskRules task_rules(const StudyInput& input, SubmitMode submit);

/// Of the time of a job that holds a study, what its tasks cannot use: its start, and its end, of
/// which it is told two minutes before.
inline constexpr std::int64_t whole_job_margin_s = 180;

/// An array of tasks that hold all experiments of a stage.
struct ArrayShape {
  std::int64_t tasks = 1;
  std::int64_t per_task = 1;  ///< experiments of a task, at most
  std::int64_t walltime_s = 60;

  [[nodiscard]] std::int64_t worst_node_seconds(int nodes_per_task) const {
    return tasks * nodes_per_task * walltime_s;
  }
  bool operator==(const ArrayShape&) const = default;
};

/// Packs `experiments` into tasks: as many in one as make it last `min_task_s` at the likely time
/// of an experiment, in all lanes; more if `tasks_max` asks for fewer tasks; never more than surely
/// end within the site's longest walltime and budget.window. All tasks hold the same number, but
/// for the last. Errors: invalid_input if one experiment is longer than the longest walltime, or if
/// so few tasks cannot hold all experiments.
[[nodiscard]] Expected<ArrayShape> pack(std::int64_t experiments, std::int64_t tasks_max,
                                        const TaskRules& rules);

/// The same with `tasks` tasks if the site's walltime allows so few, else with more.
[[nodiscard]] Expected<ArrayShape> pack_into(std::int64_t experiments, std::int64_t tasks,
                                             const TaskRules& rules);

}  // namespace slurmtune
