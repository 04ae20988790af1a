// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>
#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "slurmtune/input/ds_config_keys.hpp"
#include "slurmtune/input/key_table.hpp"
#include "slurmtune/input/readers.hpp"
#include "slurmtune/record/json.hpp"

namespace slurmtune {

namespace {

bool is_auto(const Node& node) { return node.kind == Node::Kind::string && node.text == "auto"; }

/// The integer of a key of the config; "auto" and absence give nothing.
Expected<std::optional<Located<std::int64_t>>> positive_integer(const Node& root,
                                                                std::string_view key,
                                                                std::string_view path) {
  const Node* node = root.find(key);
  if (node == nullptr || is_auto(*node)) return std::nullopt;
  if (!node->is_integral() || node->as_integer() < 1 || node->as_integer() > 1'000'000'000'000) {
    return fail_at(
        path, node->line,
        fmt::format("{} is {}, but must be an integer from 1 to 1000000000000 or \"auto\"", key,
                    written(*node)),
        fmt::format("write \"{}\": 8", key));
  }
  return Located<std::int64_t>{node->as_integer(), node->line};
}

/// A whole number in quotes, which DeepSpeed itself refuses, is taken for the number, with a note.
void read_text_as_number(Node& table, std::string_view prefix, std::string_view key,
                         DsConfig& config) {
  const auto member = std::ranges::find(table.members, key, &NodeMember::key);
  if (member == table.members.end() || member->value.kind != Node::Kind::string) return;
  Node& node = member->value;
  const std::string& text = node.text;
  std::int64_t number = 0;
  const auto [stopped, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc{} || stopped != text.data() + text.size()) return;
  config.notes.push_back(fmt::format(
      "{}:{}: {}{} is the text \"{}\", and is read as {}; DeepSpeed itself refuses it: take the "
      "quotes away",
      config.path, node.line, prefix, key, text, number));
  node.kind = Node::Kind::integer;
  node.integer = number;
  node.text.clear();
}

void read_texts_as_numbers(Node& root, DsConfig& config) {
  for (const std::string_view key : {"train_batch_size", "train_micro_batch_size_per_gpu",
                                     "gradient_accumulation_steps", "sequence_parallel_size"}) {
    read_text_as_number(root, "", key, config);
  }
  for (NodeMember& member : root.members) {
    if (member.value.kind != Node::Kind::table) continue;
    if (member.key == "zero_optimization") {
      read_text_as_number(member.value, "zero_optimization.", "stage", config);
    }
    if (member.key != "autotuning") continue;
    for (const KeyRow& row : autotuning_keys().rows) {
      if ((row.shapes & shape_integer) == 0) continue;
      read_text_as_number(member.value, "autotuning.", row.key, config);
    }
  }
}

Expected<void> read_micro_batch(const Node& root, DsConfig& config) {
  constexpr std::string_view key = "train_micro_batch_size_per_gpu";
  const Node* node = root.find(key);
  if (node == nullptr || node->kind != Node::Kind::array) {
    config.micro_batch_auto = node != nullptr && is_auto(*node);
    SLURMTUNE_TRY(config.micro_batch, positive_integer(root, key, config.path));
    return {};
  }
  Located<std::vector<std::int64_t>> list{{}, node->line};
  for (const Node& item : node->items) {
    if (!item.is_integral() || item.as_integer() < 1 || item.as_integer() > 1'000'000'000) {
      return fail_at(config.path, node->line,
                     fmt::format("{} holds {}, but must hold integers from 1 to 1000000000", key,
                                 written(item)),
                     fmt::format("write \"{}\": [1, 2, 4]", key));
    }
    list.value.push_back(item.as_integer());
  }
  if (list.value.empty()) {
    return fail_at(config.path, node->line, fmt::format("{} is an empty list", key),
                   fmt::format("write \"{}\": \"auto\"", key));
  }
  config.micro_batches = std::move(list);
  return {};
}

Expected<void> read_zero_stages(const Node& root, DsConfig& config) {
  const Node* section = root.find("zero_optimization");
  if (section == nullptr || is_auto(*section)) return {};
  constexpr std::string_view remedy = "write \"zero_optimization\": {\"stage\": 2}";
  if (section->kind != Node::Kind::table) {
    return fail_at(
        config.path, section->line,
        fmt::format("zero_optimization must be an object, but is {}", kind_name(*section)), remedy);
  }
  const Node* stage = section->find("stage");
  if (stage == nullptr || is_auto(*stage)) return {};
  Located<std::vector<int>> stages{{}, stage->line};
  if (stage->kind == Node::Kind::string && stage->text == "all") {
    stages.value = {0, 1, 2, 3};
  } else {
    const bool list = stage->kind == Node::Kind::array && !stage->items.empty();
    const std::vector<Node> single{*stage};
    for (const Node& item : list ? stage->items : single) {
      if (!item.is_integral() || item.as_integer() < 0 || item.as_integer() > 3) {
        return fail_at(config.path, stage->line,
                       fmt::format("zero_optimization.stage is {}, but must be 0 to 3, a list of "
                                   "them, \"all\" or \"auto\"",
                                   written(item)),
                       remedy);
      }
      stages.value.push_back(static_cast<int>(item.as_integer()));
    }
  }
  config.zero_stages = std::move(stages);
  return {};
}

/// `section.key`, how many ranks share something; a word ("auto") says nothing. "" = no section.
Expected<void> read_degree(const Node& root, std::string_view section, std::string_view key,
                           std::string_view path, std::vector<NamedDegree>& degrees) {
  const Node* table = section.empty() ? &root : root.find(section);
  const Node* node = table != nullptr ? table->find(key) : nullptr;
  if (node == nullptr || node->kind == Node::Kind::string) return {};
  const std::string name = section.empty() ? std::string(key) : fmt::format("{}.{}", section, key);
  if (!node->is_integral() || node->as_integer() < 0 || node->as_integer() > 1'000'000) {
    return fail_at(
        path, node->line,
        fmt::format("{} is {}, but must be an integer from 0 to 1000000", name, written(*node)),
        fmt::format("write \"{}\": 2", key));
  }
  // DeepSpeed's own default of autotp_size is 0: none.
  degrees.push_back({name, std::max<std::int64_t>(node->as_integer(), 1), node->line});
  return {};
}

Expected<void> read_parallel_keys(const Node& root, DsConfig& config) {
  DsParallel& parallel = config.parallel;
  SLURMTUNE_CHECK(
      read_degree(root, "tensor_parallel", "autotp_size", config.path, parallel.tensor));
  SLURMTUNE_CHECK(read_degree(root, "pipeline", "stages", config.path, parallel.pipeline));
  return read_degree(root, "", "sequence_parallel_size", config.path, parallel.sequence);
}

/// Every key that is "auto", by its dotted path.
void collect_auto(const Node& table, const std::string& prefix, DsConfig& config) {
  for (const NodeMember& member : table.members) {
    const std::string path = prefix.empty() ? member.key : prefix + "." + member.key;
    if (path == "autotuning" || path == "pipeline") continue;
    if (member.value.kind == Node::Kind::table) collect_auto(member.value, path, config);
    if (is_auto(member.value)) config.auto_keys.push_back({path, member.value.line});
  }
}

Expected<void> check_unsupported(const Node& root, const DsConfig& config) {
  const Node* elasticity = root.find("elasticity");
  if (elasticity == nullptr) return {};
  const Node* enabled = elasticity->find("enabled");
  const bool is_off =
      elasticity->kind == Node::Kind::table &&
      (enabled == nullptr || (enabled->kind == Node::Kind::boolean && !enabled->boolean));
  if (!is_off) {
    return fail_at(config.path, elasticity->line,
                   "elasticity chooses the batch by itself, so there is nothing to tune",
                   "write \"elasticity\": {\"enabled\": false}");
  }
  return {};
}

}  // namespace

Expected<DsConfig> read_ds_config(const SourceText& source) {
  SLURMTUNE_TRY(Node root, parse_json_source(source));
  if (root.kind != Node::Kind::table) {
    return fail_at(
        source.path, 1,
        fmt::format("a DeepSpeed config must be an object, but this is {}", kind_name(root)),
        "write {\"train_micro_batch_size_per_gpu\": \"auto\"}");
  }
  DsConfig config;
  config.path = source.path;
  read_texts_as_numbers(root, config);
  tidy_ds_config(root, config);
  SLURMTUNE_CHECK(check_unsupported(root, config));
  SLURMTUNE_CHECK(read_micro_batch(root, config));
  SLURMTUNE_TRY(config.accumulation,
                positive_integer(root, "gradient_accumulation_steps", source.path));
  const Node* accumulation = root.find("gradient_accumulation_steps");
  config.accumulation_auto = accumulation != nullptr && is_auto(*accumulation);
  SLURMTUNE_TRY(config.train_batch, positive_integer(root, "train_batch_size", source.path));
  SLURMTUNE_CHECK(read_zero_stages(root, config));
  SLURMTUNE_CHECK(read_parallel_keys(root, config));
  SLURMTUNE_CHECK(check_ds_config(root, config));
  if (const Node* autotuning = root.find("autotuning")) {
    SLURMTUNE_CHECK(read_autotuning(*autotuning, config));
  }
  collect_auto(root, "", config);
  std::erase_if(root.members, [](const NodeMember& m) { return m.key == "autotuning"; });
  SLURMTUNE_TRY(config.json, canonical_json(node_to_json(root)));
  config.root = std::move(root);
  return config;
}

}  // namespace slurmtune
