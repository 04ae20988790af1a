// SPDX-License-Identifier: MIT
#include "tests/mpi/runner/task_fixture.hpp"

#include <algorithm>
#include <cctype>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "slurmtune/study/event.hpp"

#include "tests/support/catch.hpp"

using namespace slurmtune;  // NOLINT(google-build-using-namespace): a test

namespace {

namespace fs = std::filesystem;

constexpr const char* stage = "01-grid";

/// A basic string of TOML.
std::string toml_string(const std::string& text) {
  std::string quoted = "\"";
  for (const char character : text) {
    if (character == '"' || character == '\\') quoted += '\\';
    if (character == '\n') {
      quoted += "\\n";
    } else {
      quoted += character;
    }
  }
  return quoted + '"';
}

std::string quoted(const std::vector<std::string>& words) {
  std::vector<std::string> each;
  for (const std::string& word : words) each.push_back(toml_string(word));
  return fmt::format("{}", fmt::join(each, ", "));
}

std::string study_text(const std::vector<std::string>& modes, TaskFixture::Options options) {
  if (options.command.empty()) {
    options.command = {SLURMTUNE_SOURCE_DIR "/tests/mpi/runner/trial.sh", "{p:mode}"};
  }
  return fmt::format(
      "format = 1\nname = \"trials\"\n[trial]\nnodes = {}\nprocesses_per_node = {}\n"
      "launcher = \"{}\"\ncommand = [{}]\n{}\n"
      "[[parameter]]\nname = \"mode\"\ntype = \"categorical\"\nvalues = [{}]\n"
      "[measure]\nsource = \"{}\"\nmin_steps = 6\nmax_steps = 12\n",
      options.nodes, options.processes_per_node, options.launcher, quoted(options.command),
      options.more, quoted(modes), options.source);
}

std::string text_of(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

}  // namespace

TaskFixture::TaskFixture(const std::vector<Trial>& trials, const Options& options)
    : mark_(fmt::format("SLURMTUNE_TASK_TEST={}", directory_.path().string())) {
  std::vector<std::string> modes{"good", "other"};
  Manifest manifest;
  manifest.study.text = "6b1f0000-0000-4000-8000-000000000001";
  manifest.stage.text = stage;
  manifest.inputs = "sha256:0";
  manifest.task_walltime_s = 600;
  manifest.lanes = options.lanes;
  for (const Trial& trial : trials) {
    Experiment experiment;
    experiment.configuration.values["mode"] = trial.mode;
    experiment.configuration_id = configuration_id(experiment.configuration);
    experiment.min_steps = 6;
    experiment.max_steps = 12;
    experiment.id = experiment_id(experiment.configuration_id, experiment.max_steps, 0);
    experiment.label = trial.mode;
    experiment.purpose = Purpose::grid;
    experiment.limits = trial.limits;
    experiments_[trial.mode] = experiment.id.text;
    modes.push_back(trial.mode);
    manifest.experiments.push_back(experiment);
  }
  std::sort(modes.begin(), modes.end());
  modes.erase(std::unique(modes.begin(), modes.end()), modes.end());
  const auto count = static_cast<std::int64_t>(trials.size());
  manifest.slices = {{0, count}, {count, count}};
  directory_.write("study.toml", study_text(modes, options));
  if (!options.ds_config.empty()) directory_.write("inputs/ds_config.json", options.ds_config);
  directory_.write("site.toml", "format = 1\nname = \"here\"\n");
  directory_.write(fmt::format("stages/{}/manifest.jsonl", stage),
                   render_manifest(manifest).value());
  // The journal says where trial.workdir is, too.
  StudyCreated created;
  created.study = manifest.study;
  created.name = "trials";
  created.inputs = manifest.inputs;
  created.origin = directory_.path().string();
  created.submit = "local";
  directory_.write("journal/000001.json", render_event({1, Instant{}, created}).value());
  environment["SLURMTUNE_JOB"] = "12";
}

std::vector<std::string> TaskFixture::argv(const std::vector<std::string>& more) const {
  std::vector<std::string> words = prefix;
  words.insert(words.end(), {SLURMTUNE_BIN_DIR "/slurmtune-runner", "--study",
                             directory_.path().string(), "--stage", stage});
  if (more.empty()) {
    words.insert(words.end(), {"--slice", "0"});
  } else {
    words.insert(words.end(), more.begin(), more.end());
  }
  return words;
}

std::vector<std::string> TaskFixture::full_environment() const {
  std::vector<std::string> all = current_environment();
  for (const auto& [name, value] : environment) set_variable(all, name, value);
  all.push_back(mark_);
  return all;
}

ProcessResult TaskFixture::run(const std::vector<std::string>& more_arguments) {
  ProcessRequest request;
  request.call.argv = argv(more_arguments);
  request.call.environment = full_environment();
  request.timeout = std::chrono::minutes(4);
  auto result = run_process(request);
  REQUIRE(result.has_value());
  INFO(result->out << result->err);
  REQUIRE(result->ending == Ending::exited);
  return *std::move(result);
}

ChildProcess TaskFixture::start() {
  auto child =
      ChildProcess::start({argv({}), full_environment(), ""}, {directory_ / "runner.log", ""});
  REQUIRE(child.has_value());
  return *std::move(child);
}

std::string TaskFixture::stage_file(const std::string& name) const {
  return text_of(directory_.path() / "stages" / stage / name);
}

std::optional<Shard> TaskFixture::shard(int restart) const {
  const std::string name = fmt::format("verdicts/12_0.{}.jsonl", restart);
  const std::string text = stage_file(name);
  if (text.empty()) return std::nullopt;
  return parse_shard(text, name).value();
}

Verdict TaskFixture::verdict(const std::string& mode, int restart) const {
  const auto found = shard(restart);
  REQUIRE(found.has_value());
  for (const Verdict& verdict : found->verdicts) {
    if (verdict.experiment.text == experiments_.at(mode)) return verdict;
  }
  FAIL("no verdict of " << mode);
  return {};
}

std::string TaskFixture::log(const std::string& mode) const {
  return stage_file(fmt::format("logs/{}.log", experiments_.at(mode)));
}

std::string TaskFixture::work_file(const std::string& mode, const std::string& name) const {
  return stage_file(fmt::format("work/{}/{}", experiments_.at(mode), name));
}

std::vector<pid_t> TaskFixture::processes(const std::string& name) const {
  std::vector<pid_t> found;
  std::error_code failure;
  for (const auto& entry : fs::directory_iterator("/proc", failure)) {
    const std::string number = entry.path().filename().string();
    if (std::isdigit(static_cast<unsigned char>(number.front())) == 0) continue;
    if (text_of(entry.path() / "environ").find(mark_) == std::string::npos) continue;
    if (!name.empty() && text_of(entry.path() / "comm") != name + '\n') continue;
    found.push_back(std::stoi(number));
  }
  return found;
}

std::vector<pid_t> TaskFixture::leftovers(std::chrono::milliseconds patience) const {
  const auto until = std::chrono::steady_clock::now() + patience;
  std::vector<pid_t> found = processes();
  while (!found.empty() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    found = processes();
  }
  return found;
}

bool TaskFixture::wait_for_steps(const std::string& mode) const {
  using namespace std::chrono_literals;
  for (int round = 0; round < 600; ++round) {
    if (!work_file(mode, "metrics.jsonl").empty()) return true;
    std::this_thread::sleep_for(50ms);
  }
  return false;
}
