// SPDX-License-Identifier: MIT
#include "slurmtune/input/hugging_face.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include <nlohmann/json.hpp>

#include "slurmtune/input/merge.hpp"
#include "slurmtune/record/json.hpp"

namespace slurmtune {

namespace {

using Json = nlohmann::json;
using Command = std::vector<std::string>;

enum class Flag { number, on_or_off };
enum class Batch { yes, no };

/// A key of the DeepSpeed config and the Trainer's flag that must agree with it.
struct Tie {
  std::string_view key;
  int item = -1;  ///< of a list
  std::string_view flag;
  Flag kind = Flag::number;
  std::string_view fallback;  ///< the flag's default; "" = it depends
  Batch batch = Batch::no;
};

// Source: HfTrainerDeepSpeedConfig.trainer_config_process and _finalize; defaults as
// TrainingArguments. What the number of training steps decides is left out.
constexpr std::array<Tie, 12> ties{{
    {micro_batch_key, -1, "--per_device_train_batch_size", Flag::number, "8", Batch::yes},
    {accumulation_key, -1, "--gradient_accumulation_steps", Flag::number, "1", Batch::yes},
    {"gradient_clipping", -1, "--max_grad_norm", Flag::number, "1.0"},
    {"optimizer.params.lr", -1, "--learning_rate", Flag::number, "5e-05"},
    {"optimizer.params.betas", 0, "--adam_beta1", Flag::number, "0.9"},
    {"optimizer.params.betas", 1, "--adam_beta2", Flag::number, "0.999"},
    {"optimizer.params.eps", -1, "--adam_epsilon", Flag::number, "1e-08"},
    {"optimizer.params.weight_decay", -1, "--weight_decay", Flag::number, "0.0"},
    {"scheduler.params.warmup_max_lr", -1, "--learning_rate", Flag::number, "5e-05"},
    {"scheduler.params.warmup_num_steps", -1, "--warmup_steps", Flag::number, ""},
    {"fp16.enabled", -1, "--fp16", Flag::on_or_off, "false"},
    {"bf16.enabled", -1, "--bf16", Flag::on_or_off, "false"},
}};

constexpr std::array<std::string_view, 5> trainer_flags{
    "--per_device_train_batch_size", "--per_device_eval_batch_size", "--output_dir",
    "--overwrite_output_dir", "--do_train"};

/// What a script by itself (run_clm_no_trainer.py), which accelerate starts as well, does not take.
constexpr std::array<std::string_view, 7> trainers_own{
    "--do_train",      "--overwrite_output_dir", "--logging_steps",   "--logging_strategy",
    "--save_strategy", "--save_steps",           "--save_total_limit"};

std::string dashed(std::string_view flag) {
  std::string text(flag);
  std::replace(text.begin() + 2, text.end(), '_', '-');
  return text;
}

/// The node at a dotted path, or null.
const Node* node_at(const Node& root, std::string_view path) {
  const Node* at = &root;
  while (at != nullptr) {
    const auto dot = path.find('.');
    at = at->find(path.substr(0, dot));
    if (dot == std::string_view::npos) return at;
    path.remove_prefix(dot + 1);
  }
  return nullptr;
}

bool is_auto(const Node& node) { return node.kind == Node::Kind::string && node.text == "auto"; }

std::optional<double> number_in(std::string_view text) {
  double number = 0.0;
  const auto [stopped, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || stopped != text.data() + text.size()) return std::nullopt;
  return number;
}

// Source: transformers/hf_argparser.py, string_to_bool; a flag without a value is on.
std::optional<bool> truth_in(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const std::string_view yes : {"", "true", "yes", "t", "y", "1"}) {
    if (lower == yes) return true;
  }
  for (const std::string_view no : {"false", "no", "f", "n", "0"}) {
    if (lower == no) return false;
  }
  return std::nullopt;
}

/// What the flag says, as JSON; null if it is not there, or holds a placeholder or what we cannot
/// read.
Json said_by_flag(const std::optional<SpelledFlag>& found, Flag kind) {
  if (!found || found->value.find('{') != std::string::npos) return nullptr;
  if (kind == Flag::on_or_off) {
    // `--fp16 train.txt`: the next argument is not the flag's.
    return truth_in(found->value).value_or(true);
  }
  const auto number = number_in(found->value);
  return number ? Json(*number) : Json();
}

Json fallback_of(const Tie& tie) {
  if (tie.fallback.empty()) return nullptr;
  return Json::parse(tie.fallback);
}

Expected<void> contradiction(const Merge& merge, const Tie& tie, const Node& node,
                             const std::string& ours, const SpelledFlag& found) {
  const Node& argument = merge.key("trial", "command")->items.at(found.index);
  const std::string value =
      found.value.empty() || tie.kind == Flag::on_or_off ? std::string() : " " + found.value;
  return fail_at(merge.config.path, node.line,
                 fmt::format("{} = {} contradicts {}{} of trial.command ({}): the Hugging Face "
                             "Trainer refuses to start with both",
                             tie.key, ours, found.flag, value, merge.where(argument.line)),
                 "write \"auto\" here, or make them equal");
}

/// A value that is not "auto" must be what the flag says, or its default.
Expected<void> check_tie(const Merge& merge, const Tie& tie) {
  const Node* node = node_at(merge.config.root, tie.key);
  if (node == nullptr || is_auto(*node)) return {};
  const Node* held = node;
  if (tie.item >= 0) {
    const auto item = static_cast<std::size_t>(tie.item);
    if (node->kind != Node::Kind::array || node->items.size() <= item) return {};
    held = &node->items[item];
  }
  const bool is_truth = held->kind == Node::Kind::boolean;
  if (is_truth != (tie.kind == Flag::on_or_off) || (!is_truth && !held->is_number())) return {};
  const auto found = find_spelled(merge.spec.trial.command, tie.flag);
  const Json ours = is_truth ? Json(held->boolean) : Json(held->as_real());
  const Json theirs = said_by_flag(found, tie.kind);
  const std::string text = is_truth ? (held->boolean ? "true" : "false") : written(*held);
  if (!theirs.is_null()) {
    if (ours == theirs) return {};
    return contradiction(merge, tie, *node, text, *found);
  }
  const Json fallback = fallback_of(tie);
  if (found || fallback.is_null() || ours == fallback || tie.batch == Batch::yes) return {};
  merge.note(
      fmt::format("{} = {} of {}:{}, but trial.command has no {} and its default is {}: the "
                  "Hugging Face Trainer may refuse to start",
                  tie.key, text, merge.config.path, node->line, tie.flag, tie.fallback));
  return {};
}

/// The user's config with every "auto" that the flags or their defaults tell.
Json resolved(const Merge& merge) {
  Json document = node_to_json(merge.config.root);
  for (const Tie& tie : ties) {
    std::string pointer = "/" + std::string(tie.key);
    std::ranges::replace(pointer, '.', '/');
    const Json::json_pointer at(pointer);
    if (!document.contains(at)) continue;
    Json& value = document[at];
    if (value != "auto" && !(tie.item == 1 && value.is_array())) continue;
    Json said = said_by_flag(find_spelled(merge.spec.trial.command, tie.flag), tie.kind);
    if (said.is_null()) said = fallback_of(tie);
    if (said.is_null()) continue;
    if (tie.item < 0) {
      value = std::move(said);
    } else if (tie.item == 0) {
      value = Json::array({std::move(said)});
    } else if (value.size() == 1) {
      value.push_back(std::move(said));
    }
  }
  return document;
}

/// A mapping that gives the Trainer's batch flag to another key would have it set twice.
Expected<void> check_own_flag(const Merge& merge, const Tie& tie) {
  for (const auto& [key, flag] : merge.spec.deepspeed->arg_mappings) {
    if (key == tie.key || dashed(flag) != dashed(tie.flag)) continue;
    const Node* ours = merge.key("deepspeed", "arg_mappings");
    const bool is_ours = ours != nullptr && !merge.config.arg_mappings.contains(key);
    return fail_at(is_ours ? merge.spec.path : merge.config.path,
                   is_ours ? ours->line : merge.config.arg_mappings_line,
                   fmt::format("arg_mappings gives the flag \"{}\" to {}, but it is {} of the "
                               "Hugging Face Trainer",
                               flag, key, tie.key),
                   "remove that mapping");
  }
  return {};
}

/// Where the Trainer would have both half precisions. Source: TrainingArguments.__post_init__, "At
/// most one of fp16 and bf16 can be True", and DeepSpeedConfig.
Expected<void> check_precision_flags(const Merge& merge, const Json& document) {
  const auto& command = merge.spec.trial.command;
  const auto asked = [&](std::string_view flag, const char* section) {
    const auto found = find_spelled(command, flag);
    if (found) return truth_in(found->value).value_or(true);
    return document.contains(Json::json_pointer(section)) &&
           document.at(Json::json_pointer(section)) == true;
  };
  if (!asked("--fp16", "/fp16/enabled") || !asked("--bf16", "/bf16/enabled")) return {};
  const auto fp16 = find_spelled(command, "--fp16");
  const auto bf16 = find_spelled(command, "--bf16");
  const auto& last = bf16 ? bf16 : fp16;
  const int line = last ? merge.key("trial", "command")->items.at(last->index).line : 1;
  return fail_at(merge.spec.path, line,
                 "fp16 and bf16 are both asked for, by trial.command or the config, and the "
                 "Hugging Face Trainer takes only one",
                 "remove --fp16 or --bf16");
}

/// What we write ourselves in every experiment, or what a parameter writes.
bool is_written(const Merge& merge, const std::string& path) {
  constexpr std::array<std::string_view, 5> own{train_batch_key, micro_batch_key, accumulation_key,
                                                "zero_optimization", "zero_optimization.stage"};
  if (std::ranges::find(own, path) != own.end()) return true;
  return std::ranges::any_of(merge.spec.parameters, [&](const ParameterSpec& parameter) {
    return parameter.target == "json:" + path;
  });
}

// Other wrappers that fill in "auto" (accelerate, trainers with a file of their own) cannot be told
// from the command; `--deepspeed_config` is the flag of DeepSpeed's own argument parser.
Expected<void> check_auto_keys(const Merge& merge) {
  std::vector<std::string> left;
  for (const LocatedKey& key : merge.config.auto_keys) {
    if (is_written(merge, key.path)) continue;
    if (find_flag(merge.spec.trial.command, "--deepspeed_config")) {
      return fail_at(merge.config.path, key.line,
                     fmt::format("{} is \"auto\", which DeepSpeed itself cannot read, and "
                                 "trial.command is not one of the Hugging Face Trainer",
                                 key.path),
                     "write the value");
    }
    left.push_back(key.path);
  }
  if (left.empty()) return {};
  merge.note(fmt::format("\"auto\" in {} is left to the trial: {}", merge.config.path,
                         fmt::join(left, ", ")));
  return {};
}

}  // namespace

std::optional<SpelledFlag> find_spelled(const std::vector<std::string>& command,
                                        std::string_view flag) {
  std::optional<SpelledFlag> last;
  for (const std::string& spelling : {std::string(flag), dashed(flag)}) {
    for (std::size_t i = 0; i < command.size(); ++i) {
      const std::string& argument = command[i];
      if (last && last->index > i) continue;
      if (argument.starts_with(spelling + "=")) {
        last = SpelledFlag{spelling, argument.substr(spelling.size() + 1), i};
      } else if (argument == spelling) {
        const bool has_value = i + 1 < command.size() && !command[i + 1].starts_with("--");
        last = SpelledFlag{spelling, has_value ? command[i + 1] : "", i};
      }
    }
  }
  return last;
}

bool is_hugging_face(const TrialSpec& trial, const DsConfig& config) {
  const auto has = [&](std::string_view flag) {
    return find_spelled(trial.command, flag).has_value();
  };
  if (std::ranges::none_of(trainer_flags, has)) return false;
  if (!config.auto_keys.empty()) return true;
  if (trial.env.contains("ACCELERATE_DEEPSPEED_CONFIG_FILE")) {
    return std::ranges::any_of(trainers_own, has);
  }
  const auto file = find_spelled(trial.command, "--deepspeed");
  return file && !file->value.empty();
}

Expected<void> merge_hugging_face(const Merge& merge) {
  DeepSpeedSpec& deepspeed = *merge.spec.deepspeed;
  deepspeed.resolved_json = deepspeed.config_json;
  deepspeed.hugging_face = is_hugging_face(merge.spec.trial, merge.config);
  if (!deepspeed.hugging_face) return check_auto_keys(merge);
  for (const Tie& tie : ties) {
    SLURMTUNE_CHECK(check_tie(merge, tie));
    if (tie.batch == Batch::no) continue;
    const auto found = find_spelled(merge.spec.trial.command, tie.flag);
    SLURMTUNE_CHECK(check_own_flag(merge, tie));
    deepspeed.arg_mappings.try_emplace(std::string(tie.key),
                                       found ? found->flag : std::string(tie.flag));
  }
  const auto& mappings = deepspeed.arg_mappings;
  merge.note(fmt::format(
      "trial.command is one of the Hugging Face Trainer: {} and {} agree with "
      "the config in every experiment",
      mappings.at(std::string(micro_batch_key)), mappings.at(std::string(accumulation_key))));
  const Json document = resolved(merge);
  SLURMTUNE_CHECK(check_precision_flags(merge, document));
  SLURMTUNE_TRY(deepspeed.resolved_json, canonical_json(document));
  return {};
}

}  // namespace slurmtune
