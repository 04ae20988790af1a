// SPDX-License-Identifier: MIT
#include "slurmtune/tune/dry_start.hpp"

#include <algorithm>
#include <cstdlib>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "slurmtune/base/units.hpp"
#include "slurmtune/execute/process.hpp"
#include "slurmtune/generate/ds_document.hpp"
#include "slurmtune/generate/label.hpp"
#include "slurmtune/generate/trial.hpp"
#include "slurmtune/space/space.hpp"
#include "slurmtune/study/files.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

/// A directory that goes again.
class WorkDirectory {
 public:
  [[nodiscard]] static Expected<WorkDirectory> make() {
    std::error_code code;
    const fs::path base = fs::temp_directory_path(code);
    std::string name = (base / "slurmtune-dry-start.XXXXXX").string();
    if (code || ::mkdtemp(name.data()) == nullptr) {
      return unavailable(fmt::format("{}: cannot create a directory for the dry start", name));
    }
    return WorkDirectory(name);
  }
  WorkDirectory(WorkDirectory&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  WorkDirectory& operator=(WorkDirectory&&) = delete;
  ~WorkDirectory() {
    std::error_code code;
    if (!path_.empty()) fs::remove_all(path_, code);
  }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  explicit WorkDirectory(fs::path path) : path_(std::move(path)) {}
  fs::path path_;
};

struct DryStart {
  const LoadedStudy& study;
  Configuration configuration;
  std::chrono::milliseconds limit;

  [[nodiscard]] const StudySpec& spec() const { return study.input.spec; }
  [[nodiscard]] tl::unexpected<Error> fail(std::string_view what, std::string_view remedy) const {
    return invalid_input(fmt::format("{}: trial.dry_start: {}: {}; {}", spec().path,
                                     label_of(configuration), what, remedy));
  }
};

/// One that differs from the baseline in as much as it can, so that a flag that does not follow
/// shows.
std::optional<Configuration> another(const Space& space) {
  Values partial;
  for (const Parameter& parameter : space.parameters()) {
    const auto own = space.baseline().values.find(parameter.name);
    if (own == space.baseline().values.end()) continue;
    if (parameter.role == accumulation_parameter && parameter.line == 0) continue;
    std::vector<Value> choices = parameter.choices;
    if (parameter.range && parameter.type == ParameterType::integer) {
      const auto low = static_cast<std::int64_t>(parameter.range->low);
      choices = {Value(low), Value(low + 1)};
    }
    const auto other =
        std::ranges::find_if(choices, [&](const Value& choice) { return choice != own->second; });
    if (other != choices.end() && parameter.admits(*other)) partial[parameter.name] = *other;
  }
  auto whole = space.complete(partial);
  if (!whole || partial.empty()) return std::nullopt;
  return *std::move(whole);
}

std::vector<std::string> environment_of(const DryStart& start, const TrialCommand& trial,
                                        const fs::path& work) {
  const StudySpec& spec = start.spec();
  std::vector<std::string> environment = current_environment();
  const auto local = std::to_string(spec.trial.processes_per_node);
  const std::vector<std::pair<std::string_view, std::string>> own{
      {"RANK", "0"},
      {"LOCAL_RANK", "0"},
      {"NODE_RANK", "0"},
      {"WORLD_SIZE", std::to_string(spec.ranks())},
      {"LOCAL_WORLD_SIZE", local},
      {"LOCAL_SIZE", local},
      {"MASTER_ADDR", "127.0.0.1"},
      {"MASTER_PORT", "29500"},
      {"PYTHONUNBUFFERED", "1"},
      {"SLURMTUNE_EXPERIMENT", "dry-start"},
      {"SLURMTUNE_METRICS", (work / "metrics.jsonl").string()},
      {"SLURMTUNE_WORK", work.string()},
      {"SLURMTUNE_DS_CONFIG", spec.deepspeed ? (work / "ds_config.json").string() : ""},
  };
  for (const auto& [name, value] : own) set_variable(environment, name, value);
  for (const auto& [name, value] : trial.env) set_variable(environment, name, value);
  return environment;
}

/// Setup lines first, in a bash of their own, as the runner does.
std::vector<std::string> argv_of(const DryStart& start, const TrialCommand& trial) {
  const TrialSpec& spec = start.spec().trial;
  std::vector<std::string> argv;
  if (!spec.setup.empty()) {
    std::string script = "set -e\n";
    for (const std::string& line : spec.setup) script += line + "\n";
    argv = {"bash", "-c", script + "exec \"$@\"", "bash"};
  }
  argv.insert(argv.end(), trial.argv.begin(), trial.argv.end());
  argv.insert(argv.end(), spec.dry_start.begin(), spec.dry_start.end());
  return argv;
}

std::string last_line(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.remove_suffix(1);
  const auto begin = text.rfind('\n');
  std::string line(begin == std::string_view::npos ? text : text.substr(begin + 1));
  std::erase_if(line, [](unsigned char c) { return c < 0x20; });
  return line.substr(0, 300);
}

/// What is ours at a key of the trial's; nothing where we say nothing, or "auto".
std::optional<Json> ours_at(const StudySpec& spec, const Json& document, std::string_view key) {
  if (key == "train_batch_size") {
    return Json(document.at("train_micro_batch_size_per_gpu").get<std::int64_t>() *
                document.at("gradient_accumulation_steps").get<std::int64_t>() *
                spec.data_parallel());
  }
  const Json* found = json_at(document, key);
  if (found == nullptr || *found == "auto") return std::nullopt;
  return *found;
}

/// Compares an object of the trial's with ours, key by key.
Expected<void> compare(const DryStart& start, const Json& document, const Json& theirs,
                       const std::string& prefix) {
  for (const auto& [key, value] : theirs.items()) {
    const std::string path = prefix.empty() ? key : prefix + "." + key;
    if (value.is_object()) {
      SLURMTUNE_CHECK(compare(start, document, value, path));
      continue;
    }
    const auto ours = ours_at(start.spec(), document, path);
    if (!ours || *ours == value) continue;
    return start.fail(fmt::format("the trial reads {} = {}, but {} was written for it", path,
                                  value.dump(), ours->dump()),
                      "name its own flag in deepspeed.arg_mappings, or take it out of the command");
  }
  return {};
}

Expected<void> compare_report(const DryStart& start, const Json& document, std::string_view text) {
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const Json report = Json::parse(line, nullptr, false);
    if (!report.is_object() || !report.contains("ds_config")) continue;
    const Json& theirs = report["ds_config"];
    if (theirs.is_object()) SLURMTUNE_CHECK(compare(start, document, theirs, ""));
  }
  return {};
}

Expected<void> run(const DryStart& start) {
  const StudySpec& spec = start.spec();
  SLURMTUNE_TRY(const WorkDirectory work, WorkDirectory::make());
  const fs::path workdir = start.study.origin / spec.trial.workdir;
  TrialPlace place;
  place.work = work.path().string();
  if (spec.deepspeed) place.ds_config = (work.path() / "ds_config.json").string();
  place.workdir = workdir.string();
  place.nodes = spec.trial.nodes;
  place.processes = static_cast<int>(spec.ranks());
  place.master_addr = "127.0.0.1";
  place.master_port = 29500;
  SLURMTUNE_TRY(const TrialCommand trial, render_trial(spec, start.configuration, place));
  for (const auto& [name, text] : trial.files) {
    SLURMTUNE_CHECK(replace_file(work.path() / name, text, Durability::cached));
  }
  ProcessRequest request;
  request.call.argv = argv_of(start, trial);
  request.call.environment = environment_of(start, trial, work.path());
  request.call.workdir = workdir.string();
  request.timeout = start.limit;
  SLURMTUNE_TRY(const ProcessResult result, run_process(request));
  if (result.ending == Ending::timed_out) {
    return start.fail(
        fmt::format("the command did not end within {} s", start.limit.count() / 1000),
        "give arguments with which it only reads its input and ends");
  }
  if (!result.status.success()) {
    const std::string said = last_line(result.err.empty() ? result.out : result.err);
    return start.fail(fmt::format("the command ended with {}{}{}", result.status.text(),
                                  said.empty() ? "" : ": ", said),
                      "correct trial.command or the configuration");
  }
  if (!spec.deepspeed) return {};
  SLURMTUNE_TRY(const Json document,
                ds_document(spec, start.configuration, DsConfigUse::experiment));
  SLURMTUNE_CHECK(compare_report(start, document, result.out));
  const auto metrics = read_file(work.path() / "metrics.jsonl");
  return metrics ? compare_report(start, document, *metrics) : Expected<void>();
}

}  // namespace

Expected<void> check_dry_start(const LoadedStudy& study, std::chrono::milliseconds limit) {
  if (study.input.spec.trial.dry_start.empty()) return {};
  SLURMTUNE_TRY(const Space space, make_space(study.input.spec));
  SLURMTUNE_CHECK(run({study, space.baseline(), limit}));
  const auto other = another(space);
  return other ? run({study, *other, limit}) : Expected<void>();
}

}  // namespace slurmtune
