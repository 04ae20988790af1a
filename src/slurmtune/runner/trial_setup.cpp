// SPDX-License-Identifier: MIT
#include "slurmtune/runner/trial_setup.hpp"

#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <unistd.h>

#include "slurmtune/base/shell_quote.hpp"
#include "slurmtune/execute/cpu_affinity.hpp"
#include "slurmtune/generate/trial.hpp"
#include "slurmtune/runner/start/rendezvous.hpp"
#include "slurmtune/runner/wall_clock.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

Expected<void> write_files(const fs::path& work, const std::map<std::string, std::string>& files) {
  for (const auto& [name, text] : files) {
    const fs::path path = (work / name).lexically_normal();
    SLURMTUNE_CHECK(make_private_directory(path.parent_path()));
    SLURMTUNE_CHECK(replace_file(path, text, Durability::cached));
  }
  return {};
}

Environment trial_environment(const TrialFrame& frame, const TrialCommand& command,
                              const Experiment& experiment, const TrialPlace& place,
                              const fs::path& metrics) {
  Environment environment = frame.environment;
  for (const auto& [name, value] : command.env) environment[name] = value;
  // Python holds back what it prints into a pipe, and steps are timed by their lines.
  environment.emplace("PYTHONUNBUFFERED", "1");
  environment["SLURMTUNE_EXPERIMENT"] = experiment.id.text;
  environment["SLURMTUNE_METRICS"] = metrics.string();
  environment["SLURMTUNE_WORK"] = place.work;
  if (!place.ds_config.empty()) environment["SLURMTUNE_DS_CONFIG"] = place.ds_config;
  environment["MASTER_ADDR"] = place.master_addr;
  environment["MASTER_PORT"] = std::to_string(place.master_port);
  return environment;
}

/// Where the search for a free port begins: not where another runner, or our last trial, began.
std::uint64_t port_draw(const TrialFrame& frame, const Experiment& experiment, int launch) {
  return std::hash<std::string>{}(fmt::format("{}-{}-{}-{}-{}", ::getpid(), frame.lane,
                                              attempt_name(experiment), frame.setting.array_job,
                                              launch));
}

/// What Slurm says to each node by itself, unless the study says it.
std::vector<std::string> node_variables(const TrialFrame& frame, const Environment& environment) {
  std::vector<std::string> names;
  for (const char* name :
       {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL",
        "ZE_AFFINITY_MASK", "SLURMD_NODENAME", "SLURM_TOPOLOGY_ADDR", "SLURM_JOB_GPUS",
        "SLURM_STEP_GPUS", "HOSTNAME", "TMPDIR"}) {
    if (variable(environment, name) == variable(frame.own, name)) names.emplace_back(name);
  }
  return names;
}

std::vector<int> lane_cpus(const LanePlace& place) {
  std::vector<std::string> all;
  for (const int cpu : allowed_cpus()) all.push_back(std::to_string(cpu));
  std::vector<int> mine;
  for (const std::string& cpu : part_of(all, place.share, place.shares)) {
    mine.push_back(std::stoi(cpu));
  }
  return mine;
}

/// The whole output is wanted of what the result rests on.
bool is_kept_whole(Purpose purpose) {
  return purpose == Purpose::baseline || purpose == Purpose::confirm;
}

}  // namespace

std::optional<std::int64_t> global_batch_of(const StudySpec& spec,
                                            const Configuration& configuration) {
  if (spec.batch.global) return spec.batch.global;
  auto micro_batch = configuration.integer(micro_batch_parameter);
  auto accumulation = configuration.integer(accumulation_parameter);
  if (spec.deepspeed) {
    if (!micro_batch) micro_batch = spec.deepspeed->micro_batch;
    if (!accumulation) accumulation = spec.deepspeed->gradient_accumulation;
  }
  if (!micro_batch) return std::nullopt;
  return *micro_batch * accumulation.value_or(1) * spec.data_parallel();
}

std::optional<double> hopeless_step_s(const StudySpec& spec, const Manifest& manifest,
                                      const Experiment& experiment) {
  switch (experiment.purpose) {
    case Purpose::baseline:
    case Purpose::probe:
    case Purpose::profile:
    case Purpose::confirm: return std::nullopt;
    case Purpose::frontier:
    case Purpose::curve:
    case Purpose::knobs:
    case Purpose::grid:
    case Purpose::halving: break;
  }
  const bool by_throughput =
      spec.objective.metric == "throughput" && spec.objective.direction == Direction::maximize;
  const auto batch = global_batch_of(spec, experiment.configuration);
  if (!by_throughput || !batch || !manifest.incumbent) return std::nullopt;
  const double to_beat = manifest.incumbent->throughput.low;
  if (to_beat <= 0) return std::nullopt;
  return static_cast<double>(*batch) / to_beat;
}

std::string attempt_name(const Experiment& experiment) {
  if (experiment.attempt == 0) return experiment.id.text;
  return fmt::format("{}.a{}", experiment.id.text, experiment.attempt);
}

Expected<TrialRun> set_up_trial(const TrialFrame& frame, const Experiment& experiment, int launch) {
  const StudySpec& spec = frame.files.input.spec;
  const fs::path stage = frame.files.directory.stage(frame.files.stage);
  const fs::path work = stage / "work" / attempt_name(experiment);

  TrialPlace place;
  place.work = work.string();
  if (spec.deepspeed) place.ds_config = (work / "ds_config.json").string();
  place.workdir = frame.files.workdir;
  place.nodes = spec.trial.nodes;
  place.processes = static_cast<int>(spec.ranks());
  place.master_addr = frame.master_addr;
  SLURMTUNE_TRY(place.master_port, free_port(port_draw(frame, experiment, launch)));

  SLURMTUNE_TRY(TrialCommand command, render_trial(spec, experiment.configuration, place));
  LaunchPlan plan = frame.launcher.plan({command.argv, frame.nodes, place.processes});
  if (spec.deepspeed && !command.files.contains("ds_config.json")) {
    SLURMTUNE_TRY(command.files["ds_config.json"],
                  render_ds_config(spec, experiment.configuration));
  }
  command.files["command.txt"] = shell_quote(plan.processes.front().argv) + "\n";
  SLURMTUNE_CHECK(make_private_directory(work));
  SLURMTUNE_CHECK(write_files(work, command.files));
  SLURMTUNE_CHECK(make_private_directory(stage / "logs"));

  TrialRun trial;
  SLURMTUNE_TRY(trial.rules, watch_rules(spec.measure, experiment));
  if (frame.setting.end_reason != end_by_job) {
    // Slurm ends a job by itself; nobody else minds the window and the budget.
    trial.rules.ends_by_s = trial_seconds_left(frame.setting, wall_clock());
  }
  SLURMTUNE_ASSERT(frame.files.manifest.has_value());
  trial.rules.hopeless_step_s = hopeless_step_s(spec, *frame.files.manifest, experiment);
  trial.log = stage / "logs" / (attempt_name(experiment) + ".log");
  trial.metrics = work / "metrics.jsonl";
  trial.environment = trial_environment(frame, command, experiment, place, trial.metrics);
  trial.node_variables = node_variables(frame, trial.environment);
  limit_devices(trial.environment, frame.place);
  if (frame.place.shares > 1) trial.cpus = lane_cpus(frame.place);
  trial.workdir = place.workdir;
  trial.nodes = frame.nodes;
  trial.launch = std::move(plan);
  if (is_kept_whole(experiment.purpose)) trial.keep_log = KeepLog::whole;
  return trial;
}

}  // namespace slurmtune
