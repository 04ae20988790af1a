// SPDX-License-Identifier: MIT
#include "slurmtune/runner/trial_setup.hpp"

#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "slurmtune/base/shell_quote.hpp"
#include "slurmtune/execute/spawn.hpp"
#include "slurmtune/generate/trial.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

/// A TCP port that nobody listens on now. The system hands them out in random order, so that two
/// trials at the same time hardly get the same. Errors: unavailable.
Expected<int> free_port() {
  const Descriptor listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_ANY);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);  // NOLINT: how sockets are called
  if (listener.get() < 0 || ::bind(listener.get(), generic, size) != 0 ||
      ::getsockname(listener.get(), generic, &size) != 0) {
    return unavailable(fmt::format("no free TCP port for MASTER_PORT: {}", std::strerror(errno)));
  }
  return ntohs(address.sin_port);
}

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
  return *micro_batch * accumulation.value_or(1) * spec.ranks();
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
    case Purpose::grid: break;
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

std::vector<std::string> trial_nodes(const TrialFrame& frame) {
  const auto wanted = static_cast<std::size_t>(frame.files.input.spec.trial.nodes);
  std::vector<std::string> nodes = frame.setting.nodes;
  if (nodes.size() > wanted) nodes.resize(wanted);
  return nodes;
}

Expected<TrialRun> set_up_trial(const TrialFrame& frame, const Experiment& experiment) {
  const StudySpec& spec = frame.files.input.spec;
  const fs::path stage = frame.files.directory.stage(frame.files.stage);
  const fs::path work = stage / "work" / attempt_name(experiment);
  const std::vector<std::string> nodes = trial_nodes(frame);

  TrialPlace place;
  place.work = work.string();
  if (spec.deepspeed) place.ds_config = (work / "ds_config.json").string();
  place.workdir = frame.files.workdir;
  place.nodes = spec.trial.nodes;
  place.processes = static_cast<int>(spec.ranks());
  // On one node the loopback always works; a host's own name may not resolve.
  place.master_addr = nodes.size() > 1 ? nodes.front() : "127.0.0.1";
  SLURMTUNE_TRY(place.master_port, free_port());

  SLURMTUNE_TRY(TrialCommand command, render_trial(spec, experiment.configuration, place));
  SLURMTUNE_TRY(const LaunchLine line, frame.launcher.line({command.argv, nodes, place.processes}));
  if (spec.deepspeed && !command.files.contains("ds_config.json")) {
    SLURMTUNE_TRY(command.files["ds_config.json"],
                  render_ds_config(spec, experiment.configuration));
  }
  command.files["command.txt"] = shell_quote(line.argv) + "\n";
  SLURMTUNE_CHECK(make_private_directory(work));
  SLURMTUNE_CHECK(write_files(work, command.files));
  SLURMTUNE_CHECK(make_private_directory(stage / "logs"));

  TrialRun trial;
  SLURMTUNE_TRY(trial.rules, watch_rules(spec.measure, experiment));
  SLURMTUNE_ASSERT(frame.files.manifest.has_value());
  trial.rules.hopeless_step_s = hopeless_step_s(spec, *frame.files.manifest, experiment);
  trial.log = stage / "logs" / (attempt_name(experiment) + ".log");
  trial.metrics = work / "metrics.jsonl";
  trial.process.launch = line;
  trial.process.environment = trial_environment(frame, command, experiment, place, trial.metrics);
  trial.process.workdir = place.workdir;
  return trial;
}

}  // namespace slurmtune
