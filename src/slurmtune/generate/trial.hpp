// SPDX-License-Identifier: MIT
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "slurmtune/base/error.hpp"
#include "slurmtune/input/study_spec.hpp"
#include "slurmtune/record/experiment.hpp"

namespace slurmtune {

/// What a command is rendered for.
enum class TrialUse {
  experiment,
  production,  ///< the winner's, to train with: without trial.trial_args
};

/// What a trial is told about where it runs; the runner fills it in.
struct TrialPlace {
  std::string work;       ///< absolute directory of this experiment
  std::string ds_config;  ///< absolute path of the rendered ds_config.json; "" in a generic study
  std::string workdir;    ///< absolute directory that the command runs in
  int nodes = 1;
  int processes = 1;
  std::string master_addr;
  int master_port = 0;
  TrialUse use = TrialUse::experiment;
};

/// A trial, ready to be started: what the launcher puts its ranks in front of.
struct TrialCommand {
  std::vector<std::string> argv;  ///< container prefix and the user's command, placeholders filled
  std::map<std::string, std::string> env;    ///< added to the environment
  std::map<std::string, std::string> files;  ///< path relative to `work` -> contents
};

/// What a ds_config.json is rendered for.
enum class DsConfigUse {
  experiment,  ///< `steps_per_print` is 1: the runner times the steps by their lines
  production,  ///< `steps_per_print` stays as the user has it: the winner's, to train with
};

/// The ds_config.json of a configuration: the user's config (of a list that the user gives for a
/// knob the first value), and over it the configuration's values.
/// Of the batch triple two keys are written (micro-batch and accumulation), never all three.
/// Pretty-printed, keys sorted.
/// Errors: invalid_input if the study is not a DeepSpeed study, or if a value is of no parameter.
[[nodiscard]] Expected<std::string> render_ds_config(const StudySpec& spec,
                                                     const Configuration& configuration,
                                                     DsConfigUse use = DsConfigUse::experiment);

/// Fills the command, the environment and the files of one experiment. Parameters go where their
/// targets say: `json:PATH` into ds_config.json (PATH is dotted), `arg:--flag` replaces
/// `--flag value` and `--flag=value` in the command, or is appended, `env:NAME` sets a variable.
/// A boolean parameter with an `arg:` target is a flag that is there (true) or not (false).
/// arg_mappings do the same with keys of the ds_config; keys that it lacks, or that are "auto",
/// leave the command as it is. Placeholders, in command, container and env: `{ds_config} {work}
/// {nodes} {processes} {master_addr} {master_port} {p:NAME}`, `{{` is a brace; `{local_rank}`
/// stays, for each rank's own (base/local_rank.hpp). Experiments get trial.trial_args after the
/// command. Where a DeepSpeed study has no {ds_config}, the file after --deepspeed_config or
/// --deepspeed is replaced. In a DeepSpeed study `ds_config.json` is one of the files. Knobs go
/// where their names say (space/stage_template.hpp). Errors:
/// invalid_input for an unknown placeholder, a json target without a ds_config, a `file:` target
/// (not supported by this version yet), a command that is not told its ds_config.
[[nodiscard]] Expected<TrialCommand> render_trial(const StudySpec& spec,
                                                  const Configuration& configuration,
                                                  const TrialPlace& place);

}  // namespace slurmtune
