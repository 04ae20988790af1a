// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "slurmtune/input/ds_config_keys.hpp"
#include "slurmtune/input/readers.hpp"

namespace slurmtune {

namespace {

/// DeepSpeed's fields have a name in Python and one in JSON, and it takes both.
struct OtherName {
  std::string_view theirs;
  std::string_view key;
};
constexpr std::array<OtherName, 10> other_names{{
    {"prefetch_bucket_size", "stage3_prefetch_bucket_size"},
    {"param_persistence_threshold", "stage3_param_persistence_threshold"},
    {"model_persistence_threshold", "stage3_model_persistence_threshold"},
    {"max_live_parameters", "stage3_max_live_parameters"},
    {"max_reuse_distance", "stage3_max_reuse_distance"},
    {"gather_16bit_weights_on_model_save", "stage3_gather_16bit_weights_on_model_save"},
    {"module_granularity_threshold", "stage3_module_granularity_threshold"},
    {"use_all_reduce_for_fetch_params", "stage3_use_all_reduce_for_fetch_params"},
    {"allgather_sequential", "stage3_allgather_sequential"},
    {"partition_stream_chunk_size", "stage3_partition_stream_chunk_size"},
}};

/// Deprecated switches, and the section that DeepSpeed makes of them.
constexpr std::array<OtherName, 2> old_switches{
    {{"cpu_offload", "offload_optimizer"}, {"cpu_offload_param", "offload_param"}}};

Node blank(Node::Kind kind, int line) {
  Node node;
  node.kind = kind;
  node.line = line;
  return node;
}

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

// Source: pydantic's table of what is a bool (types.py of 1.10, "bool" of 2).
std::optional<bool> truth_of(const Node& node) {
  if (node.is_number() && node.as_real() == 0.0) return false;
  if (node.is_number() && node.as_real() == 1.0) return true;
  if (node.kind != Node::Kind::string) return std::nullopt;
  const std::string word = lower(node.text);
  for (const std::string_view yes : {"1", "on", "t", "true", "y", "yes"}) {
    if (word == yes) return true;
  }
  for (const std::string_view no : {"0", "off", "f", "false", "n", "no"}) {
    if (word == no) return false;
  }
  return std::nullopt;
}

/// A value in the spelling of its row; false if there is nothing to do.
bool respell(Node& node, const KeyRow& row) {
  if ((row.shapes & (shape_boolean | shape_integer)) == shape_boolean) {
    const auto truth = truth_of(node);
    if (!truth) return false;
    node = blank(Node::Kind::boolean, node.line);
    node.boolean = *truth;
    return true;
  }
  if (node.kind != Node::Kind::string) return false;
  if ((row.shapes & shape_word) != 0 && row.key.ends_with("communication_data_type")) {
    std::string small = lower(node.text);  // DeepSpeed does not mind
    return std::exchange(node.text, small) != small;
  }
  if ((row.shapes & shape_integer) == 0) return false;
  std::int64_t number = 0;
  const char* end = node.text.data() + node.text.size();
  const auto [stopped, problem] = std::from_chars(node.text.data(), end, number);
  if (problem != std::errc{} || stopped != end || node.text.empty()) return false;
  node = blank(Node::Kind::integer, node.line);
  node.integer = number;
  return true;
}

void respell_noted(Node& node, const KeyRow& row, std::string_view prefix, DsConfig& config) {
  const std::string before = written(node);
  if (!respell(node, row)) return;
  config.notes.push_back(fmt::format("{}:{}: {}{} = {} is read as {}", config.path, node.line,
                                     prefix, row.key, before, written(node)));
}

void rename_keys(Node& zero, DsConfig& config) {
  for (NodeMember& member : zero.members) {
    const std::string_view key = key_of_field(member.key);
    if (key.empty() || zero.find(key) != nullptr) continue;
    config.notes.push_back(fmt::format("{}:{}: zero_optimization.{} is read as {}", config.path,
                                       member.value.line, member.key, key));
    member.key = key;
  }
}

/// `"cpu_offload": true` becomes the section that DeepSpeed makes of it, so that neither the memory
/// model nor a knob sees two things. Beside that section it stays, and is refused.
void replace_switches(Node& zero, DsConfig& config) {
  for (const auto& [old_key, key] : old_switches) {
    const auto found = std::ranges::find(zero.members, old_key, &NodeMember::key);
    if (found == zero.members.end() || found->value.kind != Node::Kind::boolean) continue;
    if (zero.find(key) != nullptr) continue;
    const int line = found->value.line;
    const bool on = found->value.boolean;
    zero.members.erase(found);
    if (!on) continue;
    Node device = blank(Node::Kind::string, line);
    device.text = "cpu";
    Node made = blank(Node::Kind::table, line);
    made.members.push_back({"device", std::move(device)});
    zero.members.push_back({std::string(key), std::move(made)});
    config.notes.push_back(fmt::format(
        "{}:{}: zero_optimization.{} is deprecated, and is read as \"{}\": {{\"device\": \"cpu\"}}",
        config.path, line, old_key, key));
  }
}

void tidy_table(Node& table, const KeyTable& keys, std::vector<std::string>& nulls,
                DsConfig& config) {
  std::erase_if(table.members, [&](const NodeMember& member) {
    const bool null = member.value.kind == Node::Kind::other && keys.find(member.key) != nullptr;
    if (null) nulls.push_back(std::string(keys.prefix) + member.key);
    return null;
  });
  for (NodeMember& member : table.members) {
    const KeyRow* row = keys.find(member.key);
    if (row == nullptr || (row->shapes & shape_anything) != 0) continue;
    if (member.value.kind == Node::Kind::table && row->table != nullptr) {
      tidy_table(member.value, *row->table, nulls, config);
    } else if (member.value.kind == Node::Kind::array) {
      for (Node& item : member.value.items) respell_noted(item, *row, keys.prefix, config);
    } else {
      respell_noted(member.value, *row, keys.prefix, config);
    }
  }
}

}  // namespace

std::string_view key_of_field(std::string_view name) {
  const auto found = std::ranges::find(other_names, name, &OtherName::theirs);
  return found == other_names.end() ? std::string_view() : found->key;
}

void tidy_ds_config(Node& root, DsConfig& config) {
  const auto zero = std::ranges::find(root.members, "zero_optimization", &NodeMember::key);
  const bool has_zero = zero != root.members.end() && zero->value.kind == Node::Kind::table;
  if (has_zero) rename_keys(zero->value, config);
  std::vector<std::string> nulls;
  for (const std::string_view key : {"train_batch_size", "train_micro_batch_size_per_gpu",
                                     "gradient_accumulation_steps", "sequence_parallel_size"}) {
    std::erase_if(root.members, [&](const NodeMember& member) {
      const bool null = member.key == key && member.value.kind == Node::Kind::other;
      if (null) nulls.emplace_back(key);
      return null;
    });
  }
  tidy_table(root, ds_config_keys(), nulls, config);
  if (!nulls.empty()) {
    config.notes.push_back(fmt::format("null in {} is as if the key were not there: {}",
                                       config.path, fmt::join(nulls, ", ")));
  }
  const auto still = std::ranges::find(root.members, "zero_optimization", &NodeMember::key);
  if (still != root.members.end() && still->value.kind == Node::Kind::table) {
    replace_switches(still->value, config);
  }
}

}  // namespace slurmtune
