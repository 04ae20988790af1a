// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <string>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "slurmtune/base/units.hpp"
#include "slurmtune/input/ds_config_keys.hpp"
#include "slurmtune/input/readers.hpp"

namespace slurmtune {

namespace {

Node blank(Node::Kind kind, int line) {
  Node node;
  node.kind = kind;
  node.line = line;
  return node;
}

bool is_auto(const Node& node) { return node.kind == Node::Kind::string && node.text == "auto"; }

/// DeepSpeed refuses other keys in these tables; anywhere else it does not look at them.
bool is_closed(const KeyTable& table) { return table.prefix.starts_with("zero_optimization."); }

/// The table as check_keys can check it: without "auto", each value of a list under its key, and
/// without keys that nobody minds.
Node spread(const Node& table, const KeyTable& keys) {
  Node plain = blank(Node::Kind::table, table.line);
  for (const NodeMember& member : table.members) {
    const KeyRow* row = keys.find(member.key);
    const Node& value = member.value;
    if (is_auto(value) || (row == nullptr && !is_closed(keys))) continue;
    if (row != nullptr && value.kind == Node::Kind::table && row->table != nullptr) {
      plain.members.push_back({member.key, spread(value, *row->table)});
      continue;
    }
    const bool listed = row != nullptr && value.kind == Node::Kind::array &&
                        (row->shapes & (shape_anything | shape_table)) == 0 && !value.items.empty();
    if (!listed) {
      plain.members.push_back(member);
      continue;
    }
    for (const Node& item : value.items) {
      if (is_auto(item)) continue;
      plain.members.push_back({member.key, item});
      plain.members.back().value.line = value.line;
    }
  }
  return plain;
}

/// A list in the place of one value is the user's choices for a knob: there must be some, and a
/// knob that chooses.
Expected<void> check_lists(const Node& table, const KeyTable& keys, std::string_view path) {
  for (const NodeMember& member : table.members) {
    const KeyRow* row = keys.find(member.key);
    if (row == nullptr || (row->shapes & shape_anything) != 0) continue;
    if (member.value.kind == Node::Kind::table && row->table != nullptr) {
      SLURMTUNE_CHECK(check_lists(member.value, *row->table, path));
    }
    if (member.value.kind != Node::Kind::array || row->table != nullptr) continue;
    const std::string name = fmt::format("{}{}", keys.prefix, member.key);
    if (member.value.items.empty()) {
      return fail_at(path, member.value.line,
                     fmt::format("{} is an empty list, which leaves nothing to choose", name),
                     fmt::format("write {}", row->example));
    }
    if ((row->shapes & shape_choices) != 0) continue;
    return fail_at(
        path, member.value.line,
        fmt::format("{} is a list, but DeepSpeed takes one value, and no knob of "
                    "slurmtune's chooses",
                    name),
        fmt::format("write {}, or a [[parameter]] with target = \"json:{}\"", row->example, name));
  }
  return {};
}

/// A field under both of its names, of which DeepSpeed refuses the second.
Expected<void> check_double_names(const Node& root, std::string_view path) {
  const Node* zero = root.find("zero_optimization");
  if (zero == nullptr) return {};
  for (const NodeMember& member : zero->members) {
    const std::string_view key = key_of_field(member.key);
    const Node* other = key.empty() ? nullptr : zero->find(key);
    if (other == nullptr) continue;
    return fail_at(
        path, member.value.line,
        fmt::format("zero_optimization.{} is another name of {}, which stands in line {}",
                    member.key, key, other->line),
        "remove one of them");
  }
  return {};
}

bool is_on(const Node& root, std::string_view section) {
  const Node* table = root.find(section);
  const Node* enabled = table != nullptr ? table->find("enabled") : nullptr;
  return enabled != nullptr && enabled->kind == Node::Kind::boolean && enabled->boolean;
}

Expected<void> check_precision(const Node& root, std::string_view path) {
  const std::string_view bf16 = root.find("bf16") != nullptr ? "bf16" : "bfloat16";
  if (!is_on(root, "fp16") || !is_on(root, bf16)) return {};
  const int fp16_line = root.find("fp16")->find("enabled")->line;
  const int bf16_line = root.find(bf16)->find("enabled")->line;
  return fail_at(path, std::max(fp16_line, bf16_line),
                 fmt::format("fp16 and {} are both enabled (lines {} and {}), which DeepSpeed "
                             "refuses",
                             bf16, fp16_line, bf16_line),
                 "write \"enabled\": false in one of them");
}

Expected<void> check_offload(const Node& zero, std::string_view path) {
  for (const auto& [old_key, key] : {std::pair{"cpu_offload", "offload_optimizer"},
                                     std::pair{"cpu_offload_param", "offload_param"}}) {
    const Node* section = zero.find(key);
    if (const Node* old = zero.find(old_key); old != nullptr && section != nullptr) {
      return fail_at(path, old->line,
                     fmt::format("zero_optimization.{} is deprecated, and DeepSpeed refuses it "
                                 "beside {} (line {})",
                                 old_key, key, section->line),
                     "remove it");
    }
    const Node* device = section != nullptr ? section->find("device") : nullptr;
    if (device == nullptr || device->text != "nvme" || section->find("nvme_path") != nullptr) {
      continue;
    }
    return fail_at(
        path, device->line,
        fmt::format("zero_optimization.{}.device is \"nvme\", and there is no nvme_path", key),
        "write \"nvme_path\": \"/local/nvme\" beside it");
  }
  return {};
}

// Source: DEEPSPEED_OPTIMIZERS (compared in lower case), deepspeed/runtime/lr_schedules.py,
// torch.optim and torch.optim.lr_scheduler, where DeepSpeed looks for what it does not have.
constexpr std::array<std::string_view, 27> optimizers{
    "Adam",       "AdamW",   "Adagrad", "Lamb",  "OneBitAdam", "OneBitLamb", "ZeroOneAdam",
    "MuAdam",     "MuAdamW", "MuSGD",   "Lion",  "Muon",       "Adadelta",   "Adafactor",
    "SparseAdam", "Adamax",  "ASGD",    "LBFGS", "NAdam",      "RAdam",      "RMSprop",
    "Rprop",      "SGD",     "adam",    "adamw", "lamb",       "lion"};
constexpr std::array<std::string_view, 21> schedulers{
    "LRRangeTest",       "OneCycle",     "WarmupLR",          "WarmupDecayLR",
    "WarmupCosineLR",    "LambdaLR",     "MultiplicativeLR",  "StepLR",
    "MultiStepLR",       "ConstantLR",   "LinearLR",          "ExponentialLR",
    "SequentialLR",      "PolynomialLR", "CosineAnnealingLR", "ChainedScheduler",
    "ReduceLROnPlateau", "CyclicLR",     "OneCycleLR",        "CosineAnnealingWarmRestarts",
    "LRScheduler"};

std::string lower(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return small;
}

/// `type` of a section must be one of the known ones, unless it is near none of them: then it may
/// be of a newer DeepSpeed, or the trainer's own.
Expected<void> check_type(const Node& root, std::string_view section, const auto& known,
                          DsConfig& config) {
  const Node* table = root.find(section);
  const Node* type = table != nullptr ? table->find("type") : nullptr;
  if (type == nullptr || is_auto(*type) || type->kind != Node::Kind::string) return {};
  for (const std::string_view word : known) {
    if (word == type->text || (section == "optimizer" && lower(word) == lower(type->text))) {
      return {};
    }
  }
  const std::string what =
      fmt::format("{}.type = \"{}\" is none of DeepSpeed's or torch's", section, type->text);
  const std::string_view nearest = nearest_word(type->text, known);
  if (!nearest.empty()) {
    return fail_at(config.path, type->line, what, fmt::format("did you mean \"{}\"?", nearest));
  }
  config.notes.push_back(fmt::format("{}:{}: {}", config.path, type->line, what));
  return {};
}

/// A misspelt key of a closed table is refused; one that is like no other may be a newer
/// DeepSpeed's.
void leave_newer_keys(Node& table, const KeyTable& keys, DsConfig& config) {
  std::vector<std::string_view> known;
  for (const KeyRow& row : keys.rows) known.push_back(row.key);
  std::erase_if(table.members, [&](NodeMember& member) {
    const KeyRow* row = keys.find(member.key);
    if (row == nullptr) {
      if (!is_closed(keys) || !nearest_word(member.key, known).empty()) return false;
      config.notes.push_back(fmt::format(
          "{}:{}: {}{} is no key of DeepSpeed 0.14 to 0.19, which refuse what they do not know",
          config.path, member.value.line, keys.prefix, member.key));
      return true;
    }
    if (member.value.kind == Node::Kind::table && row->table != nullptr) {
      leave_newer_keys(member.value, *row->table, config);
    }
    return false;
  });
}

/// A key at the top that is nearly one of DeepSpeed's is not looked at by it: said in a note.
void note_misspelt(const Node& root, DsConfig& config) {
  std::vector<std::string_view> known{"train_batch_size", "train_micro_batch_size_per_gpu",
                                      "gradient_accumulation_steps", "elasticity", "autotuning"};
  for (const KeyRow& row : ds_config_keys().rows) known.push_back(row.key);
  for (const NodeMember& member : root.members) {
    if (std::ranges::find(known, member.key) != known.end() || member.key.size() < 6) continue;
    const std::string_view nearest = nearest_word(member.key, known);
    if (nearest.empty() || edit_distance(nearest, member.key) > 2) continue;
    config.notes.push_back(
        fmt::format("{}:{}: DeepSpeed does not look at \"{}\"; did you mean \"{}\"?", config.path,
                    member.value.line, member.key, nearest));
  }
}

}  // namespace

Expected<void> check_ds_config(const Node& root, DsConfig& config) {
  const KeyTable& keys = ds_config_keys();
  SLURMTUNE_CHECK(check_double_names(root, config.path));
  SLURMTUNE_CHECK(check_lists(root, keys, config.path));
  Node plain = spread(root, keys);
  leave_newer_keys(plain, keys, config);
  SLURMTUNE_CHECK(check_keys(plain, keys, config.path));
  SLURMTUNE_CHECK(check_precision(root, config.path));
  if (const Node* zero = root.find("zero_optimization")) {
    SLURMTUNE_CHECK(check_offload(*zero, config.path));
  }
  SLURMTUNE_CHECK(check_type(root, "optimizer", optimizers, config));
  SLURMTUNE_CHECK(check_type(root, "scheduler", schedulers, config));
  note_misspelt(root, config);
  return {};
}

Expected<void> check_ds_value(std::string_view key, const Node& value, std::string_view path) {
  const KeyTable* table = &ds_config_keys();
  for (;;) {
    const auto dot = key.find('.');
    const KeyRow* row = table->find(key.substr(0, dot));
    if (row == nullptr && !is_closed(*table)) return {};
    if (row == nullptr || dot == std::string_view::npos) break;
    if (row->table == nullptr && (row->shapes & shape_anything) == 0) {
      return fail_at(path, value.line,
                     fmt::format("{}{} of a ds_config is one value, and nothing stands below it",
                                 table->prefix, row->key),
                     fmt::format("write the target json:{}{}", table->prefix, row->key));
    }
    if (row->table == nullptr) return {};
    table = row->table;
    key.remove_prefix(dot + 1);
  }
  Node held = blank(Node::Kind::table, value.line);
  held.members.push_back({std::string(key), value});
  return check_keys(held, *table, path);
}

}  // namespace slurmtune
