// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <unistd.h>

#include "slurmtune/base/embedded.hpp"
#include "slurmtune/base/units.hpp"
#include "slurmtune/input/readers.hpp"
#include "slurmtune/plan/planner.hpp"
#include "slurmtune/plan/submit_costs.hpp"
#include "slurmtune/study/files.hpp"
#include "slurmtune/tune/create_study.hpp"
#include "slurmtune/tune/deadline.hpp"
#include "slurmtune/tune/model_config.hpp"

namespace slurmtune {

namespace {

namespace fs = std::filesystem;

/// True if a program of that name is on PATH.
bool on_path(std::string_view program) {
  const char* path = std::getenv("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const std::size_t colon = rest.find(':');
    const fs::path candidate = fs::path(rest.substr(0, colon)) / program;
    if (::access(candidate.c_str(), X_OK) == 0) return true;
    if (colon == std::string_view::npos) return false;
    rest.remove_prefix(colon + 1);
  }
  return false;
}

/// Reads a file that the user named; that it is not there is the user's to mend.
Expected<SourceText> read_named_file(const fs::path& path, std::string_view named_in,
                                     std::string_view remedy) {
  auto text = read_file(path);
  if (text) return SourceText{path.string(), *std::move(text)};
  const std::string where = named_in.empty() ? "" : fmt::format("{}: ", named_in);
  return invalid_input(fmt::format("{}{}; {}", where, text.error().message, remedy));
}

/// The names of the site files that come with slurmtune.
std::vector<std::string_view> bundled_sites() {
  std::vector<std::string_view> names;
  constexpr std::string_view folder = "site-configs/";
  constexpr std::string_view ending = ".toml";
  for (const EmbeddedFile& file : embedded_files()) {
    if (!file.path.starts_with(folder) || !file.path.ends_with(ending)) continue;
    names.push_back(
        file.path.substr(folder.size(), file.path.size() - folder.size() - ending.size()));
  }
  return names;
}

Expected<SourceText> load_site(const std::string& site, const fs::path& base,
                               std::string_view named_in) {
  if (site.find('/') != std::string::npos || site.ends_with(".toml")) {
    return read_named_file(base / site, named_in, "name a site file that is there");
  }
  const std::string path = fmt::format("site-configs/{}.toml", site);
  if (const auto text = embedded_file(path)) return SourceText{path, std::string(*text)};
  const auto names = bundled_sites();
  std::string known;
  for (const std::string_view name : names) known += fmt::format(" {}", name);
  const std::string_view nearest = nearest_word(site, names);
  return invalid_input(fmt::format(
      "{}no site '{}' comes with slurmtune{}; known are{}, or give the path of a site file",
      named_in.empty() ? "" : fmt::format("{}: ", named_in), site,
      nearest.empty() ? "" : fmt::format("; did you mean '{}'?", nearest), known));
}

/// The site that applies: the command line's, for a local run the local one, the study's, generic.
Expected<SourceText> choose_site(const StudyOptions& options, const ReferencedFiles& files,
                                 const fs::path& origin, SubmitMode submit,
                                 const SourceText& study) {
  if (options.site) return load_site(*options.site, fs::current_path(), "--site");
  if (submit == SubmitMode::local) return load_site("local", origin, "");
  if (files.site) {
    const int line = line_of_key(study, "slurm", "site");
    return load_site(*files.site, origin, fmt::format("{}:{}", study.path, line));
  }
  return load_site("generic", origin, "");
}

/// A site file with top-level keys replaced, and taken out of its [[queue]]s.
std::string with_keys(std::string_view text,
                      const std::vector<std::pair<std::string_view, std::string>>& keys) {
  std::string replaced;
  for (const auto& [key, value] : keys) replaced += fmt::format("{} = {}\n", key, value);
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    const bool is_replaced = std::any_of(keys.begin(), keys.end(), [&](const auto& key) {
      return line.starts_with(key.first) &&
             line.find_first_not_of(" \t", key.first.size()) == line.find('=');
    });
    if (!is_replaced) replaced += std::string(line) + "\n";
  }
  return replaced;
}

/// Where the stages share one job's nodes there is nothing to gain by several tasks a stage, which
/// would run one after the other; lanes work on it side by side.
Expected<void> fit_into_one_job(LoadedStudy& study, const StudySpec& spec) {
  if (study.submit != SubmitMode::allocation && study.submit != SubmitMode::one_job) return {};
  // The rules for short jobs are those of one job: its stages are none (inside_one_job, plan/).
  std::vector<std::pair<std::string_view, std::string>> keys{
      {"min_task_minutes", "100000"}, {"job_minutes_min", "0"}, {"jobs_per_minute_max", "1000000"}};
  if (study.submit == SubmitMode::allocation) {
    const auto nodes = held_nodes();
    if (!nodes) {
      return invalid_input(
          "submit = \"allocation\": there is no allocation here (SLURM_JOB_ID and "
          "SLURM_JOB_NUM_NODES are not set); run it inside salloc or a job script, or choose "
          "another submit");
    }
    if (*nodes < spec.trial.nodes) {
      return invalid_input(fmt::format(
          "{}: a trial takes {} nodes (trial.nodes), the allocation has {}; get a larger one, or "
          "lower trial.nodes",
          spec.path, spec.trial.nodes, *nodes));
    }
    keys.emplace_back("lanes", std::to_string(*nodes / spec.trial.nodes * spec.lanes_per_node));
  }
  study.sources.site.text = with_keys(study.sources.site.text, keys);
  return {};
}

}  // namespace

std::optional<int> held_nodes() {
  const char* job = std::getenv("SLURM_JOB_ID");
  const char* nodes = std::getenv("SLURM_JOB_NUM_NODES");
  if (job == nullptr || nodes == nullptr) return std::nullopt;
  const int count = std::atoi(nodes);
  return count > 0 ? std::optional<int>(count) : std::nullopt;
}

std::string with_mode(std::string_view text, StudyMode mode) {
  const std::string line = fmt::format("mode = \"{}\"", mode == StudyMode::run ? "run" : "tune");
  std::size_t blank = std::string_view::npos;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    const std::string_view here = text.substr(at, end - at);
    const std::size_t first = here.find_first_not_of(" \t\r");
    if (first == std::string_view::npos) {
      blank = at;
    } else if (here[first] == '[') {
      break;
    } else if (here.substr(first).starts_with("mode") &&
               here.find_first_not_of(" \t", first + 4) == here.find('=')) {
      return fmt::format("{}{}{}", text.substr(0, at), line, text.substr(end));
    }
    at = end + 1;
  }
  if (blank == std::string_view::npos) return line + "\n" + std::string(text);
  return fmt::format("{}{}{}", text.substr(0, blank), line, text.substr(blank));
}

Expected<SiteFile> named_site_file(const std::string& site) {
  SLURMTUNE_TRY(const SourceText source, load_site(site, fs::current_path(), "--site"));
  return read_site_file(source);
}

Expected<Site> named_site(const std::string& site) {
  SLURMTUNE_TRY(const SiteFile file, named_site_file(site));
  return resolve_site(file, {});
}

bool is_bundled_site(std::string_view name) {
  const auto names = bundled_sites();
  return std::find(names.begin(), names.end(), name) != names.end();
}

Expected<LoadedStudy> load_study(const std::filesystem::path& study_toml,
                                 const StudyOptions& options) {
  std::error_code code;
  if (fs::is_directory(study_toml, code)) {
    return invalid_input(fmt::format("{}: is a directory; give a study.toml", study_toml.string()));
  }
  LoadedStudy study;
  study.origin = fs::absolute(study_toml, code).lexically_normal().parent_path();
  if (options.text) {
    study.sources.study = SourceText{study_toml.string(), *options.text};
  } else {
    SLURMTUNE_TRY(study.sources.study,
                  read_named_file(study_toml, "", "give the path of a study.toml"));
  }
  SLURMTUNE_TRY(const ReferencedFiles files, referenced_files(study.sources.study));
  if (files.ds_config) {
    const fs::path relative = *files.ds_config;
    const fs::path path = relative.is_absolute() ? relative : study_toml.parent_path() / relative;
    SLURMTUNE_TRY(
        study.sources.ds_config,
        read_named_file(path,
                        fmt::format("{}:{}", study.sources.study.path,
                                    line_of_key(study.sources.study, "deepspeed", "config")),
                        "name the DeepSpeed config in [deepspeed] config"));
  }

  // What the study itself says about the way to submit is known only once it is read with a site:
  // the mode does not depend on the site, so that the generic one serves for that.
  StudySources first = study.sources;
  SLURMTUNE_TRY(first.site, load_site("generic", study.origin, ""));
  SLURMTUNE_TRY(const StudyInput asked, read_study(first));
  SLURMTUNE_TRY(ModelConfig model,
                load_model_config(files.model, asked.spec, study.sources.study, study.origin));
  study.sources.model_config = std::move(model.text);
  study.submit = options.submit.value_or(asked.spec.submit);
  if (study.submit == SubmitMode::automatic) {
    study.submit = on_path("sbatch") ? SubmitMode::automatic : SubmitMode::local;
    if (options.in_foreground && held_nodes()) study.submit = SubmitMode::allocation;
  }
  if (options.mode && *options.mode != asked.spec.mode) {
    study.sources.study.text = with_mode(study.sources.study.text, *options.mode);
  }
  SLURMTUNE_TRY(study.sources.site,
                choose_site(options, files, study.origin, study.submit, study.sources.study));
  if (study.submit == SubmitMode::automatic) {
    SLURMTUNE_TRY(const StudyInput whole, read_study(study.sources));
    const SubmitChoice choice = choose_submit(whole);
    study.submit = choice.mode;
    study.submit_why = choice.why;
  }
  if (study.submit == SubmitMode::one_job) {
    SLURMTUNE_TRY(study.outside, read_study(study.sources));
  }
  SLURMTUNE_CHECK(fit_into_one_job(study, asked.spec));
  SLURMTUNE_TRY(study.input, read_study(study.sources));
  if (!model.note.empty()) study.input.spec.notes.push_back(std::move(model.note));
  const bool is_submitted =
      study.submit != SubmitMode::local && study.submit != SubmitMode::allocation;
  const BudgetSpec& budget = study.input.spec.budget;
  if (!is_submitted && budget.window) {
    return invalid_input(fmt::format(
        "{}:{}: budget.window is for jobs that wait in a queue, but this study runs at once ({}); "
        "take it out, or submit the study",
        study.input.spec.path, budget.window_line,
        study.submit == SubmitMode::local ? "on this machine" : "in the allocation"));
  }
  if (is_submitted && study.input.unanswered) return invalid_input(*study.input.unanswered);
  return study;
}

Expected<void> check_workdir(const LoadedStudy& study) {
  const StudySpec& spec = study.input.spec;
  const fs::path workdir = (study.origin / spec.trial.workdir).lexically_normal();
  std::error_code code;
  if (fs::is_directory(workdir, code)) return {};
  return invalid_input(
      fmt::format("{}:{}: trial.workdir = \"{}\": {} is {}; write a directory that is there, "
                  "relative to the study file",
                  spec.path, spec.trial.workdir_line, spec.trial.workdir, workdir.string(),
                  fs::exists(workdir, code) ? "not a directory" : "not there"));
}

Expected<Plan> plan_study(const LoadedStudy& study, Instant now) {
  SLURMTUNE_CHECK(check_workdir(study));
  SLURMTUNE_CHECK(deadline_of(study.input.spec, now));
  return make_plan(
      study.input,
      {.study = {}, .inputs = {}, .submit = study.submit, .submit_why = study.submit_why});
}

std::filesystem::path default_directory(const LoadedStudy& study) {
  return "slurmtune-" + study.input.spec.name;
}

}  // namespace slurmtune
