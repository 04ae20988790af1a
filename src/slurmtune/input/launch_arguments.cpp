// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>

#include <fmt/core.h>

#include "slurmtune/base/shell_quote.hpp"
#include "slurmtune/input/launch_line.hpp"
#include "slurmtune/input/launch_names.hpp"

namespace slurmtune {

namespace {

constexpr std::string_view switch_flag = "--deepspeed";

/// Longest words first: what comes first is what the script reads its config from.
constexpr std::array<std::string_view, 6> config_flags{"--deepspeed_config", "--deepspeed-config",
                                                       "--ds_config",        "--ds-config",
                                                       "--deepscale_config", switch_flag};

bool is_truth_word(std::string_view word) {
  constexpr std::array<std::string_view, 6> words{"true", "false", "True", "False", "1", "0"};
  return std::ranges::find(words, word) != words.end();
}

std::optional<DsConfigArgument> file_after(const std::vector<std::string>& arguments,
                                           std::string_view flag) {
  std::optional<DsConfigArgument> found;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word.starts_with(flag) && word.size() > flag.size() && word[flag.size()] == '=') {
      found = DsConfigArgument{i, flag.size() + 1, word.substr(flag.size() + 1)};
    }
    if (word != flag || i + 1 >= arguments.size()) continue;
    const std::string& next = arguments[i + 1];
    const bool is_switch = flag == switch_flag && (next.starts_with("-") || is_truth_word(next));
    if (!is_switch) found = DsConfigArgument{i + 1, 0, next};
  }
  return found;
}

bool has_flag(const std::vector<std::string>& arguments, std::string_view flag) {
  return std::ranges::any_of(arguments, [flag](const std::string& word) {
    return word == flag || (word.starts_with(flag) && word[flag.size()] == '=');
  });
}

/// JSON, or JSON in base64 (`{"` is `eyI` there), as DeepSpeed and the Trainer take it, too.
bool is_inline(std::string_view text) {
  if (text.starts_with('{')) return true;
  constexpr std::size_t shortest = 32;
  const bool begins = text.starts_with("ey") || text.starts_with("ew") || text.starts_with("e3");
  return begins && text.size() >= shortest && text.find_first_of("./") == std::string_view::npos;
}

}  // namespace

Expected<std::optional<DsConfigArgument>> find_ds_config(
    const std::vector<std::string>& arguments) {
  for (const std::string_view flag : config_flags) {
    auto found = file_after(arguments, flag);
    if (!found) continue;
    if (found->file.empty()) {
      return invalid_input(
          fmt::format("launch line: {} is given an empty word; is a shell variable unset?", flag));
    }
    if (is_inline(found->file)) {
      return invalid_input(fmt::format(
          "launch line: {} is given the DeepSpeed config itself; write it into a file and give "
          "the file's name",
          flag));
    }
    return found;
  }
  return std::nullopt;
}

Expected<void> check_arguments(LaunchLine& line) {
  if (line.launcher == LineLauncher::none && line.prefix.empty() &&
      (line.script == "sbatch" || line.script == "salloc")) {
    return invalid_input(
        fmt::format("launch line: {} submits a job, and slurmtune submits its own; give the line "
                    "that starts the training",
                    line.script));
  }
  std::string before;
  for (const std::string& word : line.arguments) {
    const std::string where = before.empty() ? "first" : fmt::format("after {}", before);
    if (word.empty()) {
      line.notes.push_back(
          fmt::format("an argument is empty ({}): is a shell variable unset?", where));
    } else if (looks_unexpanded(word)) {
      line.notes.push_back(fmt::format(
          "{} stays as it is: no shell expands it in a trial (were single quotes meant?)",
          shell_quote(word)));
    }
    const auto inner = launcher_named(word);
    const bool bare = line.prefix.empty() && line.launcher == LineLauncher::none;
    if (bare && inner && word.size() > 2 && !before.starts_with('-')) {
      return invalid_input(
          fmt::format("launch line: {} starts {} inside; give the line from {} on, and write what "
                      "stands before it into "
                      "trial.container or trial.setup of the study",
                      line.script, word, word));
    }
    before = word;
  }
  return {};
}

bool is_hf_trainer(const LaunchLine& line) {
  if (line.script.find("no_trainer") != std::string::npos) return false;
  const auto& arguments = line.arguments;
  const bool batch_or_output =
      has_flag(arguments, "--output_dir") || has_flag(arguments, "--per_device_train_batch_size");
  if (!batch_or_output) return false;
  // `--deepspeed FILE` is the Trainer's; scripts of DeepSpeed's own have it as a switch.
  constexpr std::array<std::string_view, 8> trainers_own{
      "--do_train",      "--logging_steps",       "--logging_strategy", "--save_strategy",
      "--eval_strategy", "--evaluation_strategy", "--save_total_limit", "--report_to"};
  return file_after(arguments, switch_flag).has_value() ||
         std::ranges::any_of(trainers_own,
                             [&](std::string_view flag) { return has_flag(arguments, flag); });
}

}  // namespace slurmtune
