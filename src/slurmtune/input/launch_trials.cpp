// SPDX-License-Identifier: MIT
#include "slurmtune/input/launch_trials.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "slurmtune/base/shell_quote.hpp"
#include "slurmtune/input/launch_names.hpp"

namespace slurmtune {

namespace {

using Words = std::vector<std::string>;
using FlagValue = std::pair<std::string_view, std::string_view>;

/// More steps than any trial is measured for; the runner ends it.
constexpr const char* many = "1000000";

bool has(const LaunchLine& line, std::string_view flag) {
  return std::ranges::any_of(line.arguments, [flag](const std::string& word) {
    return word == flag || (word.starts_with(flag) && word[flag.size()] == '=');
  });
}

void add_where_given(const LaunchLine& line, std::initializer_list<FlagValue> flags, Words& words) {
  for (const auto& [flag, value] : flags) {
    if (!has(line, flag)) continue;
    words.emplace_back(flag);
    words.emplace_back(value);
  }
}

/// The last of a flag's values counts, so that these win over the user's.
Words trainer_arguments(const LaunchLine& line) {
  // The progress bar tells of steps; the loss, every ten of them, of a trial that diverges.
  Words words{"--max_steps",        many,           "--save_strategy", "no",
              "--logging_strategy", "steps",        "--logging_steps", "10",
              "--disable_tqdm",     "False",        "--report_to",     "none",
              "--output_dir",       "{work}/output"};
  // Without the user's word these are off; their names differ between versions.
  add_where_given(line,
                  {{"--evaluation_strategy", "no"},
                   {"--eval_strategy", "no"},
                   {"--load_best_model_at_end", "False"},
                   {"--push_to_hub", "False"}},
                  words);
  return words;
}

Words megatron_arguments(const LaunchLine& line) {
  Words words;
  add_where_given(line,
                  {{"--train-iters", many},
                   {"--save-interval", many},
                   {"--eval-interval", many},
                   {"--exit-interval", many}},
                  words);
  return words;
}

/// Megatron's scripts: `pretrain_gpt.py`, or others with its flags.
bool is_megatron(const LaunchLine& line) {
  if (is_hf_trainer(line)) return false;
  const std::string_view name = file_name(line.script);
  const std::string_view module = name.substr(name.rfind('.') + 1);
  const bool is_module = !line.prefix.empty() && line.prefix.back() == "-m";
  if (is_module ? module.starts_with("pretrain_")
                : name.starts_with("pretrain_") && name.ends_with(".py")) {
    return true;
  }
  return has(line, "--micro-batch-size") &&
         (has(line, "--num-layers") || has(line, "--global-batch-size"));
}

/// `4`, of a flag that takes a degree of parallelism.
bool is_degree(std::string_view text) {
  constexpr std::size_t digits_max = 6;
  return !text.empty() && text.size() <= digits_max && text.front() != '0' &&
         text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace

TrialExtras trial_extras(const LaunchLine& line) {
  if (is_hf_trainer(line)) {
    return {trainer_arguments(line),
            "In trials only: long enough, nothing saved, evaluated or reported elsewhere."};
  }
  if (is_megatron(line)) {
    return {megatron_arguments(line), "In trials only: long enough, nothing saved or evaluated."};
  }
  return {};
}

Expected<std::map<std::string, std::string>> known_mappings(const LaunchLine& line) {
  std::map<std::string, std::string> mappings;
  if (!is_megatron(line)) return mappings;
  constexpr std::array<FlagValue, 3> known{
      {{"train_micro_batch_size_per_gpu", "--micro-batch-size"},
       {"train_batch_size", "--global-batch-size"},
       {"zero_optimization.stage", "--zero-stage"}}};
  for (const auto& [key, flag] : known) {
    if (!has(line, flag)) continue;
    if (argument_value(line.arguments, flag).empty()) {
      return invalid_input(
          fmt::format("launch line: {} is given nothing; is a shell variable unset?", flag));
    }
    mappings.emplace(key, flag);
  }
  return mappings;
}

// These names are Megatron's alone, so that it does not matter whose script has them.
// Sources: Megatron-LM and Megatron-DeepSpeed, megatron/arguments.py; --model-parallel-size and
// --pipe-parallel-size are their names before 2021 and in DeepSpeedExamples.
Expected<std::vector<GivenDegree>> known_degrees(const LaunchLine& line) {
  std::vector<GivenDegree> degrees;
  constexpr std::array<FlagValue, 6> known{{{"tensor", "--tensor-model-parallel-size"},
                                            {"tensor", "--model-parallel-size"},
                                            {"pipeline", "--pipeline-model-parallel-size"},
                                            {"pipeline", "--pipe-parallel-size"},
                                            {"sequence", "--ds-sequence-parallel-size"},
                                            {"sequence", "--context-parallel-size"}}};
  for (const auto& [key, flag] : known) {
    if (!has(line, flag)) continue;
    const std::string value = argument_value(line.arguments, flag);
    // No pipeline at all, in DeepSpeedExamples.
    if (flag == "--pipe-parallel-size" && value == "0") continue;
    if (!is_degree(value)) {
      return invalid_input(fmt::format("launch line: {} is given {}, but takes a number from 1{}",
                                       flag, value.empty() ? "nothing" : shell_quote(value),
                                       value.empty() ? "; is a shell variable unset?" : ""));
    }
    const auto other = std::ranges::find(degrees, key, &GivenDegree::key);
    if (other != degrees.end() && other->value != value) {
      return invalid_input(fmt::format("launch line: {} {} contradicts {} {}; give one of them",
                                       other->flag, other->value, flag, value));
    }
    if (other == degrees.end()) degrees.push_back({std::string(key), std::string(flag), value});
  }
  return degrees;
}

std::string argument_value(const std::vector<std::string>& arguments, std::string_view flag) {
  std::string value;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& word = arguments[i];
    if (word == flag && i + 1 < arguments.size()) value = arguments[i + 1];
    if (word.starts_with(flag) && word.size() > flag.size() && word[flag.size()] == '=') {
      value = word.substr(flag.size() + 1);
    }
  }
  return value;
}

}  // namespace slurmtune
