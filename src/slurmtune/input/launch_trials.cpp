// SPDX-License-Identifier: MIT
#include "slurmtune/input/launch_trials.hpp"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

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

bool is_megatron(const LaunchLine& line) {
  return has(line, "--micro-batch-size") && has(line, "--num-layers");
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

std::map<std::string, std::string> known_mappings(const LaunchLine& line) {
  std::map<std::string, std::string> mappings;
  if (!is_megatron(line)) return mappings;
  constexpr std::array<FlagValue, 3> known{
      {{"train_micro_batch_size_per_gpu", "--micro-batch-size"},
       {"train_batch_size", "--global-batch-size"},
       {"zero_optimization.stage", "--zero-stage"}}};
  for (const auto& [key, flag] : known) {
    if (has(line, flag)) mappings.emplace(key, flag);
  }
  return mappings;
}

std::vector<GivenDegree> known_degrees(const LaunchLine& line) {
  std::vector<GivenDegree> degrees;
  if (!is_megatron(line)) return degrees;
  constexpr std::array<FlagValue, 3> known{{{"tensor", "--tensor-model-parallel-size"},
                                            {"pipeline", "--pipeline-model-parallel-size"},
                                            {"sequence", "--ds-sequence-parallel-size"}}};
  for (const auto& [key, flag] : known) {
    const std::string value = argument_value(line.arguments, flag);
    const bool is_number =
        !value.empty() && value.find_first_not_of("0123456789") == std::string::npos;
    if (is_number && value != "1") {
      degrees.push_back({std::string(key), std::string(flag), value});
    }
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
