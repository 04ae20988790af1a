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

std::optional<Located<std::int64_t>> located_integer(const Node& table, std::string_view key) {
  const Node* node = table.find(key);
  if (node == nullptr || !node->is_integral()) return std::nullopt;
  return Located<std::int64_t>{node->as_integer(), node->line};
}

/// `results_dir (results are in the study's directory)` for each key that moves nothing here.
void collect_unused(const Node& section, const KeyTable& keys, DsConfig& config) {
  for (const NodeMember& member : section.members) {
    const KeyRow& row = *keys.find(member.key);
    if (member.value.kind == Node::Kind::table && row.table != nullptr) {
      collect_unused(member.value, *row.table, config);
      continue;
    }
    const bool says_nothing = member.value.kind == Node::Kind::other ||
                              (member.value.kind == Node::Kind::boolean && !member.value.boolean);
    const bool usual = member.key == "enabled" && member.value.boolean;
    if (!row.description.starts_with(not_used) || usual) continue;
    // `"enabled": false` is worth a word, `"overwrite": false` and null are not.
    if (says_nothing && member.key != "enabled") continue;
    std::string_view why = row.description.substr(not_used.size());
    why.remove_suffix(1);
    config.unused.push_back(fmt::format("{} ({})", member.key, why));
  }
}

/// A key of the batch that is misspelt would leave its flag as it is, without a word. Other keys
/// may be the config's own, or a knob's.
Expected<void> check_mapped_key(std::string_view key, int line, std::string_view path) {
  constexpr std::array<std::string_view, 3> batch_keys{
      "train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps"};
  constexpr std::size_t slip_max = 2;
  if (key.empty()) {
    return fail_at(path, line, "arg_mappings has a key without a name",
                   "write \"train_micro_batch_size_per_gpu\": \"--batch\"");
  }
  for (const std::string_view known : batch_keys) {
    const std::size_t distance = edit_distance(key, known);
    if (distance == 0 || distance > slip_max) continue;
    return fail_at(path, line, fmt::format("arg_mappings: there is no key \"{}\"", key),
                   fmt::format("did you mean \"{}\"?", known));
  }
  return {};
}

}  // namespace

Expected<std::map<std::string, std::string>> read_arg_mappings(const Node& node,
                                                               std::string_view path) {
  std::map<std::string, std::string> mappings;
  for (const NodeMember& member : node.members) {
    const std::string key(trimmed(member.key));
    const std::string flag(trimmed(member.value.text));
    SLURMTUNE_CHECK(check_mapped_key(key, member.value.line, path));
    if (flag.size() < 2 || flag.front() != '-' || flag.find_first_of(" =\t") != std::string::npos) {
      return fail_at(path, member.value.line,
                     fmt::format("arg_mappings: \"{}\" is not a flag of the script", flag),
                     fmt::format("write {} = \"--flag\"", key.empty() ? "key" : key));
    }
    if (flag == "--deepspeed" || flag == "--deepspeed_config") {
      return fail_at(path, member.value.line,
                     fmt::format("arg_mappings gives {} the flag \"{}\", which names the config "
                                 "itself",
                                 key, flag),
                     "name the flag of that value");
    }
    const auto same = std::ranges::find(mappings, flag, &decltype(mappings)::value_type::second);
    if (same != mappings.end() && same->first != key) {
      return fail_at(path, member.value.line,
                     fmt::format("arg_mappings gives the flag \"{}\" to both {} and {}", flag,
                                 same->first, key),
                     "a flag has one value: remove one of them");
    }
    if (!mappings.emplace(key, flag).second) {
      return fail_at(path, member.value.line,
                     fmt::format("arg_mappings has \"{}\" twice (spaces do not count)", key),
                     "remove one of them");
    }
  }
  return mappings;
}

Expected<void> read_autotuning(const Node& section, DsConfig& config) {
  if (section.kind != Node::Kind::table) {
    return fail_at(config.path, section.line,
                   fmt::format("autotuning must be an object, but is {}", kind_name(section)),
                   "write \"autotuning\": {\"enabled\": true}");
  }
  SLURMTUNE_CHECK(check_keys(section, autotuning_keys(), config.path));
  config.has_autotuning = true;
  if (const auto mp_size = located_integer(section, "mp_size")) {
    config.parallel.tensor.push_back({"autotuning.mp_size", mp_size->value, mp_size->line});
  }
  if (const Node* fast = section.find("fast")) config.fast = fast->boolean;
  if (const Node* metric = section.find("metric")) {
    config.metric = Located<std::string>{metric->text, metric->line};
  }
  config.max_train_batch = located_integer(section, "max_train_batch_size");
  config.min_train_batch = located_integer(section, "min_train_batch_size");
  config.micro_batch_cap = located_integer(section, "max_train_micro_batch_size_per_gpu");
  config.micro_batch_floor = located_integer(section, "min_train_micro_batch_size_per_gpu");
  config.tuner_num_trials = located_integer(section, "tuner_num_trials");
  config.tuner_early_stopping = located_integer(section, "tuner_early_stopping");
  if (const Node* info = section.find("model_info")) {
    config.model.params = real_at(*info, "num_params");
    config.model.hidden = real_at(*info, "hidden_size");
    config.model.layers = real_at(*info, "num_layers");
  }
  if (const Node* mappings = section.find("arg_mappings")) {
    config.arg_mappings_line = mappings->line;
    SLURMTUNE_TRY(config.arg_mappings, read_arg_mappings(*mappings, config.path));
  }
  collect_unused(section, autotuning_keys(), config);
  return {};
}

}  // namespace slurmtune
