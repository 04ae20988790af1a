// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/input/key_table.hpp"
#include "slurmtune/input/readers.hpp"

namespace slurmtune {

namespace {

// formats.md, section 7.
constexpr std::array<std::string_view, 7> placeholders{
    "ds_config", "work", "nodes", "processes", "master_addr", "master_port", "local_rank"};

Expected<void> check_environment(const Node& node, std::string_view path) {
  const Node* env = node.find("env");
  if (env == nullptr) return {};
  for (const NodeMember& member : env->members) {
    if (!is_identifier(member.key)) {
      return fail_at(path, member.value.line,
                     fmt::format("\"{}\" is not the name of an environment variable", member.key),
                     "write letters, digits and underscores");
    }
    if (member.key.starts_with("SLURMTUNE_")) {
      return fail_at(path, member.value.line,
                     fmt::format("{} is set for every trial by slurmtune", member.key),
                     "remove it");
    }
  }
  return {};
}

Expected<void> check_snapshot(const Node& node, std::string_view path) {
  const Node* snapshot = node.find("snapshot");
  if (snapshot == nullptr) return {};
  for (const Node& glob : snapshot->items) {
    const std::string& text = glob.text;
    if (!text.empty() && text.front() != '/' && text.find("..") == std::string::npos) continue;
    return fail_at(path, glob.line, fmt::format("\"{}\" is not below workdir", text),
                   "write a relative pattern without \"..\", e.g. \"*.py\"");
  }
  return {};
}

Expected<void> check_setup(const Node& node, std::string_view path) {
  const Node* setup = node.find("setup");
  if (setup == nullptr) return {};
  for (const Node& line : setup->items) {
    if (line.text.find('\n') == std::string::npos) continue;
    return fail_at(path, line.line, "a shell line holds a line break", "write one string a line");
  }
  return {};
}

/// The names in braces of one argument. Errors: a brace that is not closed, or closes nothing
/// known.
Expected<std::vector<std::string>> names_in_braces(const Node& argument, std::string_view path) {
  std::vector<std::string> names;
  const std::string& text = argument.text;
  for (std::size_t at = text.find('{'); at != std::string::npos; at = text.find('{', at)) {
    if (at + 1 < text.size() && text[at + 1] == '{') {
      at += 2;
      continue;
    }
    const auto end = text.find('}', at);
    if (end == std::string::npos) {
      return fail_at(path, argument.line, fmt::format("the brace in \"{}\" is not closed", text),
                     "write {{ for a brace that is meant");
    }
    names.push_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return names;
}

Expected<void> check_name(const Node& argument, const std::string& name, const StudySpec& spec) {
  const auto fail = [&](std::string_view what, std::string_view remedy) {
    return fail_at(spec.path, argument.line, what, remedy);
  };
  if (name == "ds_config" && !spec.deepspeed) {
    return fail("{ds_config} stands for the DeepSpeed config, and there is none",
                "add a section [deepspeed], or remove it");
  }
  if (name == "local_rank" && spec.trial.launcher == Launcher::command) {
    return fail(
        "{local_rank} is each rank's own, and with launcher = \"command\" the ranks are started by "
        "the command itself",
        "choose another launcher, or remove it");
  }
  if (std::ranges::find(placeholders, name) != placeholders.end()) return {};
  if (!name.starts_with("p:")) {
    const std::string_view nearest = nearest_word(name, placeholders);
    if (!nearest.empty()) {
      return fail(fmt::format("unknown placeholder {{{}}}", name),
                  fmt::format("did you mean {{{}}}? ({{{{ is a brace)", nearest));
    }
    return fail(fmt::format("unknown placeholder {{{}}}", name),
                fmt::format("known are {{{}}} and {{p:NAME}}; {{{{ is a brace",
                            fmt::join(placeholders, "}, {")));
  }
  std::vector<std::string_view> known;
  if (spec.deepspeed) {
    known = {zero_stage_parameter, micro_batch_parameter, accumulation_parameter};
  }
  for (const ParameterSpec& parameter : spec.parameters) known.emplace_back(parameter.name);
  const std::string parameter = name.substr(2);
  if (std::ranges::find(known, parameter) != known.end()) return {};
  const std::string_view nearest = nearest_word(parameter, known);
  return fail(fmt::format("{{{}}} names no parameter", name),
              nearest.empty() ? std::string("add a [[parameter]] of that name")
                              : fmt::format("did you mean {{p:{}}}?", nearest));
}

}  // namespace

Expected<TrialSpec> read_trial(const Node& node, std::string_view path) {
  const Node& command = *node.find("command");
  if (command.items.empty() || trimmed(command.items.front().text).empty()) {
    return fail_at(path, command.line, "trial.command names no program",
                   "write command = [\"python3\", \"train.py\"]");
  }
  SLURMTUNE_CHECK(check_environment(node, path));
  SLURMTUNE_CHECK(check_snapshot(node, path));
  SLURMTUNE_CHECK(check_setup(node, path));
  TrialSpec trial;
  trial.nodes = static_cast<int>(integer_or(node, "nodes", trial.nodes));
  trial.processes_per_node =
      static_cast<int>(integer_or(node, "processes_per_node", trial.processes_per_node));
  if (const Node* launcher = node.find("launcher")) {
    const KeyRow& row = *study_keys().find("trial")->table->find("launcher");
    trial.launcher = static_cast<Launcher>(word_index(row, launcher->text));
  }
  trial.command = strings_of(&command);
  trial.trial_args = strings_of(node.find("trial_args"));
  trial.workdir = text_or(node, "workdir", trial.workdir);
  if (const Node* workdir = node.find("workdir")) trial.workdir_line = workdir->line;
  if (trial.workdir.empty()) {
    return fail_at(path, node.find("workdir")->line, "trial.workdir is empty",
                   "write workdir = \".\"");
  }
  trial.setup = strings_of(node.find("setup"));
  trial.env = string_map_of(node.find("env"));
  trial.container = strings_of(node.find("container"));
  trial.snapshot = strings_of(node.find("snapshot"));
  trial.dry_start = strings_of(node.find("dry_start"));
  return trial;
}

Expected<void> check_placeholders(const Node& study, const StudySpec& spec) {
  std::vector<std::string> used;
  for (const std::string_view key : {"command", "trial_args"}) {
    const Node* arguments = study.find("trial")->find(key);
    if (arguments == nullptr) continue;
    for (const Node& argument : arguments->items) {
      SLURMTUNE_TRY(const auto names, names_in_braces(argument, spec.path));
      for (const std::string& name : names) {
        SLURMTUNE_CHECK(check_name(argument, name, spec));
        if (key == "command") used.push_back(name);
      }
    }
  }
  for (const ParameterSpec& parameter : spec.parameters) {
    const bool in_command = std::ranges::find(used, "p:" + parameter.name) != used.end();
    if (in_command || !parameter.target.empty()) continue;
    return fail_at(spec.path, parameter.line,
                   fmt::format("parameter \"{}\" goes nowhere", parameter.name),
                   fmt::format("write a target, or {{p:{}}} in trial.command", parameter.name));
  }
  return {};
}

std::optional<FlagValue> find_flag(const std::vector<std::string>& argv, std::string_view flag) {
  std::optional<FlagValue> found;
  for (std::size_t i = 0; i < argv.size(); ++i) {
    if (argv[i] == flag && i + 1 < argv.size()) found = FlagValue{argv[i + 1], i + 1};
    if (argv[i].starts_with(flag) && argv[i].size() > flag.size() && argv[i][flag.size()] == '=') {
      found = FlagValue{argv[i].substr(flag.size() + 1), i};
    }
  }
  return found;
}

}  // namespace slurmtune
