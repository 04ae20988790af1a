// SPDX-License-Identifier: MIT
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "slurmtune/base/error.hpp"
#include "slurmtune/runner/lane/lane_layout.hpp"
#include "slurmtune/runner/lane/lane_trial.hpp"
#include "slurmtune/runner/start/launcher.hpp"
#include "slurmtune/runner/study_files.hpp"
#include "slurmtune/runner/task_setting.hpp"

namespace slurmtune {

/// What all trials of a lane have in common.
struct TrialFrame {
  const StudyFiles& files;
  const TaskSetting& setting;
  const RankLauncher& launcher;
  const Environment& own;          ///< of this node, scrubbed
  const Environment& environment;  ///< the same after trial.setup
  int lane = 0;
  LanePlace place;
  std::vector<std::string> nodes;  ///< names of the lane's nodes, as its ranks
  std::string master_addr;
  Hardware hardware{};  ///< of those nodes, once they have been looked at
};

/// The number of samples of one optimizer step over all ranks, if the study tells: [batch] global,
/// else micro_batch x gradient_accumulation x ranks, with the user's own value where a study with a
/// ds_config does not vary it.
[[nodiscard]] std::optional<std::int64_t> global_batch_of(const StudySpec& spec,
                                                          const Configuration& configuration);

/// Seconds a step above which a trial cannot win against the manifest's incumbent; nothing where
/// that is not asked: another objective than throughput, no incumbent, or an experiment that is
/// measured for its own sake (baseline, profile, confirm).
[[nodiscard]] std::optional<double> hopeless_step_s(const StudySpec& spec, const Manifest& manifest,
                                                    const Experiment& experiment);

/// `<id>`, or `<id>.a<attempt>` from the second try on: the name of an experiment's work directory
/// and of its log.
[[nodiscard]] std::string attempt_name(const Experiment& experiment);

/// Makes the experiment's work directory with everything a trial needs (ds_config.json, the files
/// that parameters name, command.txt), and says how to run it.
/// Errors: invalid_input if the configuration cannot be written down (the trial is then a
/// config_error); unavailable if the disk fails.
/// `launch` counts how often it is started: each time another MASTER_PORT is taken.
[[nodiscard]] Expected<TrialRun> set_up_trial(const TrialFrame& frame, const Experiment& experiment,
                                              int launch);

}  // namespace slurmtune
