// SPDX-License-Identifier: MIT
#include "slurmtune/input/launch_study.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "slurmtune/base/local_rank.hpp"
#include "slurmtune/base/shell_quote.hpp"
#include "slurmtune/input/launch_names.hpp"
#include "slurmtune/input/launch_slurm.hpp"
#include "slurmtune/input/launch_trials.hpp"

namespace slurmtune {

namespace {

using Words = std::vector<std::string>;

constexpr std::string_view ds_placeholder = "{ds_config}";
constexpr std::size_t name_max = 64;
constexpr const char* accelerate_accumulation = "ACCELERATE_GRADIENT_ACCUMULATION_STEPS";

/// The last part of a path, which may end in a slash.
std::string_view last_name(std::string_view path) {
  while (path.size() > 1 && path.ends_with('/')) path.remove_suffix(1);
  return file_name(path);
}

/// A TOML basic string.
std::string toml(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (code < 0x20 || code == 0x7f) {
      quoted += fmt::format("\\u{:04x}", code);
    } else {
      quoted += c;
    }
  }
  return quoted + "\"";
}

/// Text for a comment: on one line.
std::string comment(std::string text) {
  std::replace_if(
      text.begin(), text.end(),
      [](char c) {
        const auto code = static_cast<unsigned char>(c);
        return code < 0x20 || code == 0x7f;
      },
      ' ');
  return text;
}

/// An argument of the user's: its braces are no placeholders.
std::string literal(std::string_view argument) {
  std::string text;
  for (const char c : argument) {
    text += c;
    if (c == '{') text += c;
  }
  return text;
}

/// What may stand in a study's name; `/` and the like become dashes.
std::string as_name(std::string_view text) {
  std::string name;
  for (const char c : text) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '.' || c == '_' || c == '-';
    name += fits ? c : '-';
  }
  name.erase(0, name.find_first_not_of(".-"));
  name.resize(std::min(name.size(), name_max));
  return name;
}

/// The script, and the model if the line names one: `run_clm-gpt2-large`.
UnderstoodThing name_of_study(const LaunchLine& line, const std::string& given) {
  if (!given.empty()) return {"name", given, "--name"};
  std::string_view stem = last_name(line.script);
  const bool is_module = !line.prefix.empty() && line.prefix.back() == "-m";
  if (is_module) stem = stem.substr(stem.rfind('.') + 1);
  if (!is_module && stem.find('.') > 0) stem = stem.substr(0, stem.find('.'));
  std::string name = as_name(stem);
  std::string from = is_module ? "the module" : "the script";
  for (const std::string_view flag : {"--model_name_or_path", "--model_name", "--model"}) {
    const std::string model = as_name(last_name(argument_value(line.arguments, flag)));
    if (model.empty()) continue;
    name += "-" + model;
    from += fmt::format(" and {}", flag);
    break;
  }
  name = as_name(name);
  return {"name", name.empty() ? "study" : name, from};
}

/// Writes the lines of a table with their comments.
class Table {
 public:
  void add(std::string_view key, const std::string& value, const std::string& from) {
    std::string line = fmt::format("{:<18} = {}", key, value);
    if (!from.empty()) line = fmt::format("{:<34} # {}", line, comment(from));
    text_ += line + "\n";
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// A flag with its value on one line, as people write them.
std::string argv_lines(const Words& words) {
  std::string text = "[\n";
  std::string line;
  const auto end_line = [&] {
    if (!line.empty()) text += "  " + line + "\n";
    line.clear();
  };
  for (const std::string& word : words) {
    const bool is_flag = word.size() > 1 && word.front() == '-' && word != "-u" && word != "-m" &&
                         std::string_view(word).find_first_of("0123456789.", 1) != 1;
    if (is_flag) end_line();
    line += (line.empty() ? "" : " ") + toml(word) + ",";
  }
  end_line();
  return text + "]";
}

std::string table_of(const std::map<std::string, std::string>& entries) {
  std::string text;
  for (const auto& [name, value] : entries) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", toml(name), toml(value));
  }
  return "{ " + text + " }";
}

std::string strings(const Words& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + toml(word);
  return "[" + text + "]";
}

/// Where the config stands in the line: its file and the flag that names it.
struct Config {
  std::string file;
  std::string from;
  std::optional<DsConfigArgument> argument;  ///< absent: accelerate's own flag
};

tl::unexpected<Error> no_config(const LaunchLine& line) {
  const std::string_view shell = line.prefix.empty() ? line.script : "";
  if (is_shell(shell) || shell.ends_with(".sh") || shell.ends_with(".sbatch")) {
    return invalid_input(fmt::format(
        "launch line: it names no DeepSpeed config, and what a script of the shell ({}) starts is "
        "not looked into; give the line in it that starts the training: slurmtune tune -- "
        "deepspeed train.py --deepspeed ds_config.json …",
        is_shell(shell) && !line.arguments.empty() ? line.arguments.front() : shell));
  }
  if (line.launcher == LineLauncher::accelerate) {
    return invalid_input(
        "launch line: it names no DeepSpeed config; give it before the script with "
        "--deepspeed_config_file FILE (the file may be as short as "
        "{\"train_micro_batch_size_per_gpu\": \"auto\"})");
  }
  const bool is_switch = std::ranges::find(line.arguments, "--deepspeed") != line.arguments.end();
  return invalid_input(fmt::format(
      "launch line: {}; give it with --deepspeed_config FILE or --deepspeed FILE (the file may be "
      "as short as {{\"train_micro_batch_size_per_gpu\": \"auto\"}}), or write a study.toml with "
      "what varies in [[parameter]] (docs/user/study.md)",
      is_switch ? "--deepspeed names no DeepSpeed config (is a shell variable unset?)"
                : "it names no DeepSpeed config"));
}

Expected<Config> config_of(const LaunchLine& line) {
  SLURMTUNE_TRY(const auto argument, find_ds_config(line.arguments));
  if (line.ds_config) {
    if (line.ds_config->empty()) {
      return invalid_input("launch line: --deepspeed_config_file is given an empty word");
    }
    return Config{*line.ds_config, line.ds_config_from, std::nullopt};
  }
  if (!argument) return no_config(line);
  const std::string& word = line.arguments[argument->index];
  const std::string flag = argument->offset > 0 ? word.substr(0, argument->offset - 1)
                                                : line.arguments[argument->index - 1];
  return Config{argument->file, flag, argument};
}

/// The trial's command: without the launcher, with placeholders.
Words command_of(const LaunchLine& line, const Config& config) {
  Words words;
  for (const std::string& word : line.prefix) words.push_back(literal(word));
  words.push_back(literal(line.script));
  if (!line.local_rank_flag.empty()) {
    words.push_back(fmt::format("{}={}", line.local_rank_flag, local_rank_mark));
  }
  for (std::size_t i = 0; i < line.arguments.size(); ++i) {
    const std::string& word = line.arguments[i];
    const bool is_config = config.argument && i == config.argument->index;
    words.push_back(is_config ? literal(word.substr(0, config.argument->offset)) +
                                    std::string(ds_placeholder)
                              : literal(word));
  }
  return words;
}

std::map<std::string, std::string> environment_of(const LaunchLine& line, const Config& config,
                                                  const std::string& devices) {
  std::map<std::string, std::string> env;
  for (const auto& [name, value] : line.env) env[name] = literal(value);
  if (!config.argument) {
    // What accelerate's own launcher tells its processes (accelerate/utils/launch.py).
    env["ACCELERATE_USE_DEEPSPEED"] = "true";
    env["ACCELERATE_DEEPSPEED_CONFIG_FILE"] = ds_placeholder;
  }
  const auto accumulation = env.find(accelerate_accumulation);
  if (accumulation != env.end()) accumulation->second = "{p:gradient_accumulation}";
  if (!devices.empty()) env["CUDA_VISIBLE_DEVICES"] = devices;
  return env;
}

std::string trial_section(const LaunchLine& line, const LaunchResources& resources,
                          const LaunchStudyRequest& request, const Config& config) {
  Table table;
  const bool by_mpi = line.launcher == LineLauncher::mpi || line.launcher == LineLauncher::srun;
  table.add("nodes", std::to_string(resources.nodes), resources.nodes_from);
  table.add("processes_per_node", std::to_string(resources.processes_per_node),
            resources.processes_from);
  table.add("launcher", by_mpi ? "\"auto\"" : "\"torch\"",
            line.launcher_name.empty() ? "" : "in place of " + line.launcher_name);
  table.add("workdir", toml(request.workdir), "");
  if (!line.setup.empty()) table.add("setup", strings(line.setup), "");
  const auto env = environment_of(line, config, resources.devices);
  if (!env.empty()) table.add("env", table_of(env), "");
  std::string text = "[trial]\n" + table.text();
  text += "# {ds_config} is each experiment's own.";
  if (!line.local_rank_flag.empty()) {
    text +=
        fmt::format(" {} is what {} gives each process.", line.local_rank_flag, line.launcher_name);
  }
  text += fmt::format("\ncommand = {}\n", argv_lines(command_of(line, config)));
  const TrialExtras extras = trial_extras(line);
  if (!extras.arguments.empty()) {
    text += fmt::format("# {}\ntrial_args = {}\n", extras.why, argv_lines(extras.arguments));
  }
  return text;
}

std::string head(const LaunchStudyRequest& request, const UnderstoodThing& name) {
  const char* word = request.mode == StudyMode::run ? "run" : "tune";
  std::string text = fmt::format(
      "# What slurmtune understood of this launch line:\n#   {}\n# It is yours to edit; then: "
      "slurmtune {} {}\n",
      comment(shell_quote(request.argv)), word,
      comment(shell_quote(request.file.empty() ? study_file_of(name.value) : request.file)));
  Table table;
  table.add("format", "1", "");
  table.add("name", toml(name.value), name.from);
  table.add("mode", toml(word),
            request.mode == StudyMode::run ? "tune, then train once with the best" : "");
  return text + table.text();
}

Expected<std::string> deepspeed_section(const LaunchLine& line, const Config& config,
                                        const LaunchStudyRequest& request) {
  const bool relative = !config.file.starts_with('/');
  Table table;
  table.add("config", toml((relative ? request.directory_of_config : "") + config.file),
            config.from + "; its \"autotuning\" section is read");
  SLURMTUNE_TRY(const auto mappings, known_mappings(line));
  if (!mappings.empty()) table.add("arg_mappings", table_of(mappings), "flags that must agree");
  return "[deepspeed]\n" + table.text();
}

/// Which lines tell of steps, and why.
struct StepSource {
  std::string_view word;
  std::string_view why;
};

StepSource step_source(const LaunchLine& line) {
  if (is_hf_trainer(line)) return {"hf", "the flags are those of Hugging Face's Trainer"};
  if (line.launcher == LineLauncher::accelerate) {
    // It sets steps_per_print to infinity (accelerate/utils/dataclasses.py).
    return {"hf", "accelerate silences DeepSpeed's lines; the script's progress bar is read"};
  }
  return {"deepspeed", "DeepSpeed's own lines"};
}

std::string measure_section(const StepSource& steps) {
  const auto startup_s = static_cast<int>(MeasureSpec{}.startup_s);
  return fmt::format(
      "\n[measure]\nsource = \"{}\"  # {}\n"
      "# Seconds until the first step, at most, before a trial is taken for hung. It makes most of "
      "the\n# plan's worst case and of the walltime of jobs: lower it to what loading takes here.\n"
      "startup_s = {}\n",
      steps.word, steps.why, startup_s);
}

Expected<std::string> parallel_section(const LaunchLine& line) {
  SLURMTUNE_TRY(const std::vector<GivenDegree> degrees, known_degrees(line));
  Table table;
  for (const GivenDegree& degree : degrees) {
    if (degree.value != "1") table.add(degree.key, degree.value, degree.flag);
  }
  return table.text().empty() ? "" : "\n[parallel]\n" + table.text();
}

}  // namespace

std::string study_file_of(std::string_view name) { return fmt::format("study-{}.toml", name); }

Expected<LaunchStudy> launch_study(const LaunchLine& line, const LaunchResources& resources,
                                   const LaunchStudyRequest& request) {
  SLURMTUNE_TRY(const Config config, config_of(line));
  LaunchStudy study;
  const UnderstoodThing name = name_of_study(line, request.name);
  study.name = name.value;
  study.config = {"config", config.file, config.from};
  study.notes = line.notes;
  if (const auto steps = line.env.find(accelerate_accumulation); steps != line.env.end()) {
    study.notes.push_back(
        fmt::format("--gradient_accumulation_steps {0} is each experiment's own; the baseline has "
                    "that of {1}: write gradient_accumulation_steps = {0} there if it has none",
                    steps->second, config.file));
  }
  if (!line.autotuning.empty()) {
    study.notes.push_back(
        fmt::format("--autotuning {} is left out: the command, slurmtune {}, says what is done",
                    line.autotuning, request.mode == StudyMode::run ? "run" : "tune"));
  }
  study.notes.insert(study.notes.end(), resources.notes.begin(), resources.notes.end());
  const StepSource steps = step_source(line);
  study.understood = {
      name,
      {"nodes", std::to_string(resources.nodes), resources.nodes_from},
      {"processes_per_node", std::to_string(resources.processes_per_node),
       resources.processes_from},
      study.config,
      {"steps", std::string(steps.word), std::string(steps.why)},
  };
  std::string text = head(request, name);
  text += "\n" + trial_section(line, resources, request, config);
  SLURMTUNE_TRY(const std::string parallel, parallel_section(line));
  SLURMTUNE_TRY(const std::string deepspeed, deepspeed_section(line, config, request));
  text += "\n" + deepspeed + parallel;
  text += measure_section(steps);
  text +=
      "\n# What the study may cost; without it there is no limit.\n# [budget]\n"
      "# max_node_hours = 40\n";
  SLURMTUNE_TRY(const std::string slurm, slurm_lines(request.slurm));
  if (!request.site.empty() || !slurm.empty()) text += "\n[slurm]\n";
  if (!request.site.empty()) text += fmt::format("site = {}\n", toml(request.site));
  text += slurm;
  if (!study.notes.empty()) text += "\n# Notes\n";
  for (const std::string& note : study.notes) text += "# - " + comment(note) + "\n";
  // In the file a comment says so.
  study.notes.push_back(
      fmt::format("the worst case counts {} s until the first step of every experiment; lower "
                  "measure.startup_s of the study to what loading takes",
                  MeasureSpec{}.startup_s));
  study.text = std::move(text);
  return study;
}

}  // namespace slurmtune
