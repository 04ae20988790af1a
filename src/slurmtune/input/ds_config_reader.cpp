// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <set>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

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
        fmt::format("{} is {}, but must be a positive integer or \"auto\"", key, written(*node)),
        fmt::format("write \"{}\": 8", key));
  }
  return Located<std::int64_t>{node->as_integer(), node->line};
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
      return fail_at(
          config.path, node->line,
          fmt::format("{} holds {}, which is not a positive integer", key, written(item)),
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
    return fail_at(path, node->line,
                   fmt::format("{} is {}, but must be a positive integer", name, written(*node)),
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

Expected<void> check_unsupported(const Node& root, const DsConfig& config) {
  const Node* elasticity = root.find("elasticity");
  if (elasticity != nullptr && boolean_or(*elasticity, "enabled", false)) {
    return fail_at(config.path, elasticity->line,
                   "elasticity chooses the batch by itself, so there is nothing to tune",
                   "write \"elasticity\": {\"enabled\": false}");
  }
  return {};
}

std::optional<Located<std::int64_t>> located_integer(const Node& table, std::string_view key) {
  const Node* node = table.find(key);
  if (node == nullptr || !node->is_integral()) return std::nullopt;
  return Located<std::int64_t>{node->as_integer(), node->line};
}

Expected<void> read_autotuning(const Node& section, DsConfig& config) {
  SLURMTUNE_CHECK(check_keys(section, autotuning_keys(), config.path));
  if (const auto mp_size = located_integer(section, "mp_size")) {
    config.parallel.tensor.push_back({"autotuning.mp_size", mp_size->value, mp_size->line});
  }
  if (const Node* fast = section.find("fast")) config.fast = fast->boolean;
  if (const Node* metric = section.find("metric")) {
    config.metric = Located<std::string>{metric->text, metric->line};
  }
  config.max_train_batch = located_integer(section, "max_train_batch_size");
  config.micro_batch_cap = located_integer(section, "max_train_micro_batch_size_per_gpu");
  if (const Node* info = section.find("model_info")) {
    config.model.params = real_at(*info, "num_params");
    config.model.hidden = real_at(*info, "hidden_size");
  }
  if (const Node* mappings = section.find("arg_mappings")) {
    SLURMTUNE_TRY(config.arg_mappings, read_arg_mappings(*mappings, config.path));
  }
  for (const NodeMember& member : section.members) {
    const bool unused = autotuning_keys().find(member.key)->description == not_used;
    if (unused && member.key != "enabled" && member.value.kind != Node::Kind::other) {
      config.unused.push_back(member.key);
    }
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
    if (flag.size() < 2 || flag.front() != '-' || flag.find_first_of(" =\t") != std::string::npos) {
      return fail_at(path, member.value.line,
                     fmt::format("arg_mappings: \"{}\" is not a flag of the script", flag),
                     fmt::format("write {} = \"--flag\"", key.empty() ? "key" : key));
    }
    if (!mappings.emplace(key, flag).second) {
      return fail_at(path, member.value.line,
                     fmt::format("arg_mappings has \"{}\" twice (spaces do not count)", key),
                     "remove one of them");
    }
  }
  return mappings;
}

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
  SLURMTUNE_CHECK(check_unsupported(root, config));
  SLURMTUNE_CHECK(read_micro_batch(root, config));
  SLURMTUNE_TRY(config.accumulation,
                positive_integer(root, "gradient_accumulation_steps", source.path));
  const Node* accumulation = root.find("gradient_accumulation_steps");
  config.accumulation_auto = accumulation != nullptr && is_auto(*accumulation);
  SLURMTUNE_TRY(config.train_batch, positive_integer(root, "train_batch_size", source.path));
  SLURMTUNE_CHECK(read_zero_stages(root, config));
  SLURMTUNE_CHECK(read_parallel_keys(root, config));
  if (const Node* autotuning = root.find("autotuning")) {
    if (autotuning->kind != Node::Kind::table) {
      return fail_at(source.path, autotuning->line,
                     fmt::format("autotuning must be an object, but is {}", kind_name(*autotuning)),
                     "write \"autotuning\": {\"enabled\": true}");
    }
    SLURMTUNE_CHECK(read_autotuning(*autotuning, config));
  }
  std::erase_if(root.members, [](const NodeMember& m) { return m.key == "autotuning"; });
  SLURMTUNE_TRY(config.json, canonical_json(node_to_json(root)));
  return config;
}

}  // namespace slurmtune
