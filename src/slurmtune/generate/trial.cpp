// SPDX-License-Identifier: MIT
#include "slurmtune/generate/trial.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "slurmtune/base/local_rank.hpp"
#include "slurmtune/base/units.hpp"
#include "slurmtune/generate/ds_document.hpp"
#include "slurmtune/space/stage_template.hpp"

namespace slurmtune {

namespace {

using Argv = std::vector<std::string>;

constexpr std::string_view ds_placeholder = "{ds_config}";

/// What a placeholder stands for, by its text between the braces.
using Placeholders = std::map<std::string, std::string>;

Placeholders placeholders_of(const StudySpec& spec, const Configuration& configuration,
                             const TrialPlace& place) {
  Placeholders filled{{"work", place.work},
                      {"nodes", std::to_string(place.nodes)},
                      {"processes", std::to_string(place.processes)},
                      {"master_addr", place.master_addr},
                      {"master_port", std::to_string(place.master_port)}};
  if (spec.deepspeed) {
    const DeepSpeedSpec& user = *spec.deepspeed;
    filled["ds_config"] = place.ds_config;
    filled["p:zero_stage"] = std::to_string(user.zero_stage);
    filled["p:micro_batch"] = std::to_string(user.micro_batch);
    filled["p:gradient_accumulation"] = std::to_string(user.gradient_accumulation);
  }
  for (const auto& [name, value] : configuration.values) {
    filled["p:" + name] = format_value(value);
  }
  return filled;
}

/// Why a placeholder means nothing, and what to write.
tl::unexpected<Error> unknown_placeholder(const StudySpec& spec, std::string_view text,
                                          const std::string& name, const Placeholders& known) {
  if (name == "ds_config") {
    return invalid_input(fmt::format(
        "{}: '{}': {{ds_config}} has no meaning without a [deepspeed] section", spec.path, text));
  }
  for (const ParameterSpec& parameter : spec.parameters) {
    if (name != "p:" + parameter.name) continue;
    return invalid_input(fmt::format(
        "{}:{}: parameter '{}' has no value where its 'when' does not hold, so '{}' cannot be "
        "filled; give it a target instead of a placeholder",
        spec.path, parameter.line, parameter.name, text));
  }
  std::vector<std::string> names;
  for (const auto& [key, value] : known) names.push_back(key);
  const std::string_view nearest = nearest_word(name, names);
  const std::string hint =
      nearest.empty() ? std::string() : fmt::format(" (did you mean {{{}}}?)", nearest);
  return invalid_input(
      fmt::format("{}: '{}': unknown placeholder {{{}}}{}; a brace by itself is written {{{{",
                  spec.path, text, name, hint));
}

Expected<std::string> fill(const StudySpec& spec, std::string_view text,
                           const Placeholders& placeholders) {
  std::string filled;
  for (std::size_t at = 0; at < text.size();) {
    if (text[at] != '{') {
      filled += text[at++];
      continue;
    }
    if (text.substr(at, 2) == "{{") {
      filled += '{';
      at += 2;
      continue;
    }
    const std::size_t end = text.find('}', at);
    if (end == std::string_view::npos) {
      return invalid_input(fmt::format(
          "{}: '{}': a brace is open; write {{{{ for a brace by itself", spec.path, text));
    }
    const std::string name(text.substr(at + 1, end - at - 1));
    const auto value = placeholders.find(name);
    if (value == placeholders.end()) return unknown_placeholder(spec, text, name, placeholders);
    filled += value->second;
    at = end + 1;
  }
  return filled;
}

Expected<Argv> fill_all(const StudySpec& spec, const Argv& texts,
                        const Placeholders& placeholders) {
  Argv filled;
  for (const std::string& text : texts) {
    SLURMTUNE_TRY(filled.emplace_back(), fill(spec, text, placeholders));
  }
  return filled;
}

/// Whether an argument is a value and not the next flag: `-1` and `-.5` are values.
bool is_value(std::string_view argument) {
  if (!argument.starts_with('-') || argument.size() < 2) return true;
  return argument[1] == '.' || std::isdigit(static_cast<unsigned char>(argument[1])) != 0;
}

/// Replaces `--flag value` and `--flag=value` wherever they are.
bool replace_flag(Argv& argv, const std::string& flag, const std::string& value) {
  bool found = false;
  const std::string joined = flag + "=";
  for (std::size_t i = 0; i < argv.size(); ++i) {
    if (argv[i].starts_with(joined)) {
      argv[i] = joined + value;
      found = true;
    } else if (argv[i] == flag) {
      found = true;
      if (i + 1 < argv.size() && is_value(argv[i + 1])) {
        argv[i + 1] = value;
      } else {
        argv.insert(argv.begin() + static_cast<std::ptrdiff_t>(i) + 1, value);
      }
      ++i;
    }
  }
  return found;
}

bool is_truth_word(std::string_view word) {
  constexpr std::array words{std::string_view("true"), std::string_view("false"),
                             std::string_view("True"), std::string_view("False")};
  return std::find(words.begin(), words.end(), word) != words.end();
}

/// A flag without a value: there, or not.
void set_switch(Argv& argv, const std::string& flag, bool on) {
  for (std::size_t i = 0; i < argv.size();) {
    if (argv[i] != flag && !argv[i].starts_with(flag + "=")) {
      ++i;
      continue;
    }
    const bool has_word = argv[i] == flag && i + 1 < argv.size() && is_truth_word(argv[i + 1]);
    const auto first = argv.begin() + static_cast<std::ptrdiff_t>(i);
    argv.erase(first, first + (has_word ? 2 : 1));
  }
  if (on) argv.push_back(flag);
}

void set_flag(Argv& argv, const std::string& flag, const Value& value) {
  if (const bool* on = std::get_if<bool>(&value)) return set_switch(argv, flag, *on);
  if (replace_flag(argv, flag, format_value(value))) return;
  argv.push_back(flag);
  argv.push_back(format_value(value));
}

/// Puts the rendered config where the command names one, if it has no placeholder for it.
Expected<void> name_ds_config(const StudySpec& spec, Argv& argv, const std::string& path) {
  if (replace_flag(argv, "--deepspeed_config", path)) return {};
  // `--deepspeed` alone is a switch of scripts that take the file by another flag.
  for (std::size_t i = 0; i < argv.size(); ++i) {
    const bool joined = argv[i].starts_with("--deepspeed=");
    const bool apart = argv[i] == "--deepspeed" && i + 1 < argv.size() && is_value(argv[i + 1]);
    if (joined) argv[i] = "--deepspeed=" + path;
    if (apart) argv[i + 1] = path;
    if (joined || apart) return {};
  }
  return invalid_input(fmt::format(
      "{}: trial.command does not tell the script which ds_config to use; write {} where the "
      "file's name belongs, e.g. [\"python3\", \"train.py\", \"--deepspeed_config\", "
      "\"{}\"]",
      spec.path, ds_placeholder, ds_placeholder));
}

bool speaks_of_ds_config(const TrialSpec& trial) {
  const auto speaks = [](const std::string& text) {
    return text.find(ds_placeholder) != std::string::npos;
  };
  return std::any_of(trial.command.begin(), trial.command.end(), speaks) ||
         std::any_of(trial.env.begin(), trial.env.end(),
                     [&](const auto& entry) { return speaks(entry.second); });
}

/// The value of a key of arg_mappings.
std::optional<Value> mapped_value(const StudySpec& spec, const Json& document,
                                  const std::string& key) {
  if (key != "train_batch_size") return ds_value(document, key);
  const auto micro = ds_value(document, "train_micro_batch_size_per_gpu");
  const auto accumulation = ds_value(document, "gradient_accumulation_steps");
  SLURMTUNE_ASSERT(micro && accumulation);
  return Value(std::get<std::int64_t>(*micro) * std::get<std::int64_t>(*accumulation) *
               spec.data_parallel());
}

/// Puts one parameter where its target says; `json:` ones are in the ds_config already.
Expected<void> apply_target(const StudySpec& spec, const ParameterSpec& parameter,
                            const std::optional<Value>& value, TrialCommand& trial) {
  const std::string_view target = parameter.target;
  const std::size_t colon = target.find(':');
  const std::string_view kind = target.substr(0, colon);
  const std::string rest(colon == std::string_view::npos ? "" : target.substr(colon + 1));
  if (target.empty()) return {};
  if (kind == "json" && !spec.deepspeed) {
    return invalid_input(
        fmt::format("{}:{}: target '{}' needs a ds_config, and the study has no "
                    "[deepspeed] section; use arg:--flag or env:NAME",
                    spec.path, parameter.line, target));
  }
  if (kind == "file") {
    return invalid_input(
        fmt::format("{}:{}: target '{}': files are not supported by this version "
                    "yet; use json:PATH, arg:--flag or env:NAME",
                    spec.path, parameter.line, target));
  }
  if (kind != "json" && ((kind != "arg" && kind != "env") || rest.empty())) {
    return invalid_input(
        fmt::format("{}:{}: target '{}' is none; write json:PATH, arg:--flag or "
                    "env:NAME",
                    spec.path, parameter.line, target));
  }
  if (!value) return {};  // conditional, and its condition does not hold
  if (kind == "arg") set_flag(trial.argv, rest, *value);
  if (kind == "env") trial.env[rest] = format_value(*value);
  return {};
}

std::optional<Value> value_in(const Configuration& configuration, const std::string& name) {
  const auto found = configuration.values.find(name);
  if (found == configuration.values.end()) return std::nullopt;
  return found->second;
}

/// Renders the ds_config, tells the command of it, and fills what arg_mappings name.
Expected<void> apply_deepspeed(const StudySpec& spec, const Configuration& configuration,
                               const TrialPlace& place, TrialCommand& trial) {
  SLURMTUNE_TRY(const Json document, ds_document(spec, configuration, DsConfigUse::experiment));
  trial.files["ds_config.json"] = document.dump(2) + "\n";
  if (!speaks_of_ds_config(spec.trial)) {
    SLURMTUNE_CHECK(name_ds_config(spec, trial.argv, place.ds_config));
  }
  for (const auto& [key, flag] : spec.deepspeed->arg_mappings) {
    if (const auto value = mapped_value(spec, document, key)) set_flag(trial.argv, flag, *value);
  }
  return {};
}

/// Puts the knobs that are no keys of the ds_config into the environment and the command.
void apply_knobs(const Configuration& configuration, TrialCommand& trial) {
  for (const auto& [name, value] : configuration.values) {
    if (!is_knob_name(name)) continue;
    const std::string target = knob_target(name);
    const std::string what = target.substr(target.find(':') + 1);
    if (target.starts_with("env:")) trial.env[what] = format_value(value);
    if (target.starts_with("arg:")) set_flag(trial.argv, what, value);
  }
}

}  // namespace

Expected<TrialCommand> render_trial(const StudySpec& spec, const Configuration& configuration,
                                    const TrialPlace& place) {
  Placeholders placeholders = placeholders_of(spec, configuration, place);
  TrialCommand trial;
  Argv words = spec.trial.command;
  if (place.use == TrialUse::experiment) {
    words.insert(words.end(), spec.trial.trial_args.begin(), spec.trial.trial_args.end());
  }
  placeholders["local_rank"] = local_rank_mark;
  SLURMTUNE_TRY(trial.argv, fill_all(spec, words, placeholders));
  placeholders.erase("local_rank");  // the environment of all ranks is one
  for (const auto& [name, text] : spec.trial.env) {
    SLURMTUNE_TRY(trial.env[name], fill(spec, text, placeholders));
  }
  if (spec.deepspeed) SLURMTUNE_CHECK(apply_deepspeed(spec, configuration, place, trial));
  for (const ParameterSpec& parameter : spec.parameters) {
    SLURMTUNE_CHECK(apply_target(spec, parameter, value_in(configuration, parameter.name), trial));
  }
  apply_knobs(configuration, trial);
  SLURMTUNE_TRY(const Argv container, fill_all(spec, spec.trial.container, placeholders));
  trial.argv.insert(trial.argv.begin(), container.begin(), container.end());
  return trial;
}

}  // namespace slurmtune
