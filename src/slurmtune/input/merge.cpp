// SPDX-License-Identifier: MIT
#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "slurmtune/input/readers.hpp"

namespace slurmtune {

namespace {

constexpr std::string_view micro_batch_key = "train_micro_batch_size_per_gpu";
constexpr std::string_view accumulation_key = "gradient_accumulation_steps";

/// study.toml and the config beside it, on their way into one StudySpec.
struct Merge {
  const Node& study;
  const DsConfig& config;
  StudySpec& spec;

  [[nodiscard]] const Node* key(std::string_view section, std::string_view name) const {
    const Node* table = study.find(section);
    return table != nullptr ? table->find(name) : nullptr;
  }
  [[nodiscard]] std::string where(int line) const { return fmt::format("{}:{}", spec.path, line); }
  void note(std::string text) const { spec.notes.push_back(std::move(text)); }
  void note_study_wins(std::string_view name, std::string_view theirs, int line) const {
    note(fmt::format("{} of {} is used, not {} of {}:{}", name, spec.path, theirs, config.path,
                     line));
  }
};

std::string joined(const auto& numbers) { return fmt::format("[{}]", fmt::join(numbers, ", ")); }

std::vector<int> sorted_stages(std::vector<int> stages) {
  std::ranges::sort(stages);
  stages.erase(std::unique(stages.begin(), stages.end()), stages.end());
  return stages;
}

void merge_zero_stages(const Merge& merge) {
  DeepSpeedSpec& deepspeed = *merge.spec.deepspeed;
  deepspeed.zero_stages = {0, 1, 2, 3};
  const auto& theirs = merge.config.zero_stages;
  if (theirs) {
    deepspeed.zero_stages = sorted_stages(theirs->value);
    deepspeed.zero_stages_given = true;
    // The user's training would start with the one that is given; a list is no DeepSpeed config, so
    // its first stands for it.
    deepspeed.zero_stage = theirs->value.front();
  }
  const Node* ours = merge.key("deepspeed", "zero_stages");
  if (ours == nullptr) return;
  deepspeed.zero_stages = {0, 1, 2, 3};
  deepspeed.zero_stages_given = true;
  if (ours->kind != Node::Kind::string) {
    const auto stages = integers_of(*ours);
    deepspeed.zero_stages = sorted_stages({stages.begin(), stages.end()});
  }
  if (theirs && sorted_stages(theirs->value) != deepspeed.zero_stages) {
    merge.note_study_wins("deepspeed.zero_stages",
                          "zero_optimization.stage = " + joined(theirs->value), theirs->line);
  }
}

Expected<void> merge_arg_mappings(const Merge& merge) {
  DeepSpeedSpec& deepspeed = *merge.spec.deepspeed;
  deepspeed.arg_mappings = merge.config.arg_mappings;
  if (const Node* ours = merge.key("deepspeed", "arg_mappings")) {
    SLURMTUNE_TRY(const auto mappings, read_arg_mappings(*ours, merge.spec.path));
    for (const auto& [key, flag] : mappings) {
      const auto theirs = deepspeed.arg_mappings.find(key);
      if (theirs != deepspeed.arg_mappings.end() && theirs->second != flag) {
        merge.note(fmt::format("{} = \"{}\" of deepspeed.arg_mappings is used, not \"{}\" of {}",
                               key, flag, theirs->second, merge.config.path));
      }
      deepspeed.arg_mappings[key] = flag;
    }
  }
  // Where the config leaves a key to the Hugging Face Trainer ("auto"), the Trainer's own flag must
  // agree with what we write, or it refuses to start.
  const std::array<std::tuple<std::string_view, std::string_view, bool>, 2> trainer_flags{{
      {micro_batch_key, "--per_device_train_batch_size", merge.config.micro_batch_auto},
      {accumulation_key, "--gradient_accumulation_steps", merge.config.accumulation_auto},
  }};
  for (const auto& [key, flag, is_auto] : trainer_flags) {
    const std::string name(key);
    if (!is_auto || deepspeed.arg_mappings.contains(name)) continue;
    if (!find_flag(merge.spec.trial.command, flag)) continue;
    deepspeed.arg_mappings[name] = flag;
    merge.note(fmt::format("{} is \"auto\" and trial.command has {}: the flag is kept in step", key,
                           flag));
  }
  return {};
}

/// The integer that the user's command gives a mapped key; none if the flag is not there, or holds
/// a placeholder.
Expected<std::optional<std::int64_t>> mapped_value(const Merge& merge, std::string_view key) {
  const auto& mappings = merge.spec.deepspeed->arg_mappings;
  const auto mapping = mappings.find(std::string(key));
  if (mapping == mappings.end()) return std::nullopt;
  const auto flag = find_flag(merge.spec.trial.command, mapping->second);
  if (!flag || flag->value.find('{') != std::string::npos) return std::nullopt;
  std::int64_t value = 0;
  const char* end = flag->value.data() + flag->value.size();
  const auto [stopped, problem] = std::from_chars(flag->value.data(), end, value);
  if (problem != std::errc{} || stopped != end || value < 1 || value > 1'000'000'000) {
    const int line = merge.key("trial", "command")->items.at(flag->index).line;
    return fail_at(merge.spec.path, line,
                   fmt::format("trial.command gives {} \"{}\", which is not a positive integer",
                               mapping->second, flag->value),
                   "write the number (the command is an argv, no shell expands it)");
  }
  return value;
}

Expected<void> merge_global_batch(const Merge& merge) {
  BatchSpec& batch = merge.spec.batch;
  const DsConfig& config = merge.config;
  const Node* global = merge.key("batch", "global");
  const Node* max_global = merge.key("batch", "max_global");
  const bool constant = global != nullptr && global->is_number();
  if (constant && max_global != nullptr) {
    return fail_at(merge.spec.path, max_global->line,
                   "batch.max_global contradicts the constant batch.global",
                   "remove it, or write global = \"free\"");
  }
  if (constant) {
    batch.global = global->as_integer();
    batch.where = merge.where(global->line);
    if (config.train_batch && config.train_batch->value != *batch.global) {
      merge.note_study_wins(fmt::format("batch.global = {}", *batch.global),
                            fmt::format("train_batch_size = {}", config.train_batch->value),
                            config.train_batch->line);
    }
  } else if (global == nullptr && config.train_batch) {
    if (max_global != nullptr) {
      return fail_at(merge.spec.path, max_global->line,
                     fmt::format("batch.max_global contradicts train_batch_size of {}:{}",
                                 config.path, config.train_batch->line),
                     "remove it, or write global = \"free\"");
    }
    batch.global = config.train_batch->value;
    batch.where = fmt::format("{}:{}", config.path, config.train_batch->line);
    merge.note(fmt::format("the global batch is constant: train_batch_size = {} of {}:{}",
                           *batch.global, config.path, config.train_batch->line));
  }
  const auto& theirs = config.max_train_batch;
  if (batch.global) {
    if (theirs) {
      merge.note(
          fmt::format("max_train_batch_size of {}:{} has no effect: the global batch is "
                      "constant",
                      config.path, theirs->line));
    }
    return {};
  }
  if (max_global != nullptr) {
    batch.max_global = max_global->as_integer();
    batch.where = merge.where(max_global->line);
  }
  if (max_global != nullptr && theirs && theirs->value != *batch.max_global) {
    merge.note_study_wins(fmt::format("batch.max_global = {}", *batch.max_global),
                          fmt::format("max_train_batch_size = {}", theirs->value), theirs->line);
  }
  if (max_global == nullptr && theirs) {
    batch.max_global = theirs->value;
    batch.where = fmt::format("{}:{}", config.path, theirs->line);
  }
  return {};
}

/// Whether the global batch can be divided among the ranks at all.
Expected<void> check_global_batch(const Merge& merge) {
  const BatchSpec& batch = merge.spec.batch;
  const std::int64_t ranks = merge.spec.ranks();
  const auto fail = [&](const Node* ours, const std::optional<Located<std::int64_t>>& theirs,
                        std::string_view what, std::string_view remedy) {
    if (ours != nullptr && ours->is_number())
      return fail_at(merge.spec.path, ours->line, what, remedy);
    return fail_at(merge.config.path, theirs ? theirs->line : 1, what, remedy);
  };
  if (batch.global && *batch.global % ranks != 0) {
    const std::int64_t below = *batch.global / ranks * ranks;
    const std::string nearest =
        below > 0 ? fmt::format("{} or {}", below, below + ranks) : fmt::format("{}", ranks);
    return fail(merge.key("batch", "global"), merge.config.train_batch,
                fmt::format("the global batch {} is not a multiple of the {} ranks (trial.nodes x "
                            "trial.processes_per_node)",
                            *batch.global, ranks),
                fmt::format("write {}, or change the ranks", nearest));
  }
  if (batch.max_global && *batch.max_global < ranks) {
    return fail(merge.key("batch", "max_global"), merge.config.max_train_batch,
                fmt::format("no global batch up to {} can be divided among {} ranks",
                            *batch.max_global, ranks),
                fmt::format("write at least {}", ranks));
  }
  return {};
}

Expected<void> merge_micro_batches(const Merge& merge) {
  BatchSpec& batch = merge.spec.batch;
  const auto& theirs = merge.config.micro_batches;
  if (theirs) batch.micro_batches = theirs->value;
  if (const Node* ours = merge.key("batch", "micro_batch")) {
    batch.micro_batches =
        ours->kind == Node::Kind::string ? std::vector<std::int64_t>{} : integers_of(*ours);
    if (theirs && theirs->value != batch.micro_batches) {
      merge.note_study_wins("batch.micro_batch",
                            fmt::format("{} = {}", micro_batch_key, joined(theirs->value)),
                            theirs->line);
    }
  }
  std::ranges::sort(batch.micro_batches);
  batch.micro_batches.erase(std::unique(batch.micro_batches.begin(), batch.micro_batches.end()),
                            batch.micro_batches.end());
  if (merge.config.micro_batch_cap) batch.micro_batch_cap = merge.config.micro_batch_cap->value;
  if (batch.global) {
    batch.micro_batch_cap = std::min(batch.micro_batch_cap, *batch.global / merge.spec.ranks());
  }
  return {};
}

// What the user's own training has: DeepSpeed's batch arithmetic (runtime/config.py),
// train_batch_size = micro-batch x accumulation x data-parallel ranks.
Expected<void> merge_user_batch(const Merge& merge) {
  DeepSpeedSpec& deepspeed = *merge.spec.deepspeed;
  const DsConfig& config = merge.config;
  const std::int64_t ranks = merge.spec.ranks();
  std::optional<std::int64_t> micro;
  std::optional<std::int64_t> accumulation;
  if (config.micro_batch) micro = config.micro_batch->value;
  if (config.accumulation) accumulation = config.accumulation->value;
  if (!micro) {
    SLURMTUNE_TRY(micro, mapped_value(merge, micro_batch_key));
  }
  if (!accumulation) {
    SLURMTUNE_TRY(accumulation, mapped_value(merge, accumulation_key));
  }
  if (config.train_batch) {
    const std::int64_t train = config.train_batch->value;
    if (!micro && !accumulation) accumulation = 1;
    const std::int64_t known = micro.value_or(1) * accumulation.value_or(1) * ranks;
    const bool both = micro && accumulation;
    if (train % known != 0 || (both && train != known)) {
      return fail_at(config.path, config.train_batch->line,
                     fmt::format("train_batch_size {} is not micro-batch {} x accumulation {} x {} "
                                 "ranks",
                                 train, micro ? std::to_string(*micro) : "?",
                                 accumulation ? std::to_string(*accumulation) : "?", ranks),
                     "correct one of them, or remove one");
    }
    if (!micro) micro = train / known;
    if (!accumulation) accumulation = train / known;
  }
  const auto& listed = merge.spec.batch.micro_batches;
  if (!micro) micro = listed.empty() ? 1 : listed.front();
  const auto& global = merge.spec.batch.global;
  if (!accumulation && global && *global % (*micro * ranks) == 0) {
    accumulation = *global / (*micro * ranks);
  }
  deepspeed.micro_batch = *micro;
  deepspeed.gradient_accumulation = accumulation.value_or(1);
  return {};
}

void merge_model(const Merge& merge) {
  ModelSpec& model = merge.spec.model;
  model = merge.config.model;
  for (const auto& [key, field] : {std::pair{"params", &model.params},
                                   {"hidden", &model.hidden},
                                   {"layers", &model.layers},
                                   {"sequence_length", &model.sequence_length}}) {
    const Node* ours = merge.key("model", key);
    if (ours == nullptr) continue;
    if (*field && **field != ours->as_real()) {
      merge.note(fmt::format("model.{} of {} is used, not model_info of {}", key, merge.spec.path,
                             merge.config.path));
    }
    *field = ours->as_real();
  }
}

Expected<void> merge_metric(const Merge& merge) {
  const auto& metric = merge.config.metric;
  if (!metric) return {};
  const std::string& name = metric->value;
  ObjectiveSpec theirs;
  if (name == "latency") {
    theirs.direction = Direction::minimize;
    theirs.metric = "step_s";
  } else if (name == "FLOPS" || name == "flops" || name == "FLOPS_per_gpu") {
    theirs.metric = "flops_per_gpu";
  } else if (name != "throughput") {
    return fail_at(merge.config.path, metric->line,
                   fmt::format("the metric \"{}\" is not known", name),
                   "write \"throughput\", \"latency\" or \"FLOPS\"");
  }
  ObjectiveSpec& ours = merge.spec.objective;
  const bool given = merge.key("objective", "maximize") != nullptr ||
                     merge.key("objective", "minimize") != nullptr;
  if (!given) {
    ours.direction = theirs.direction;
    ours.metric = theirs.metric;
  } else if (ours.metric != theirs.metric) {
    merge.note_study_wins("[objective]", fmt::format("metric = {}", name), metric->line);
  }
  return {};
}

// `--deepspeed ds_config.json` names the user's file, but every experiment has its own.
void point_at_own_config(const Merge& merge) {
  std::vector<std::string>& command = merge.spec.trial.command;
  const auto has_placeholder = [](const std::string& argument) {
    return argument.find("{ds_config}") != std::string::npos;
  };
  if (std::ranges::any_of(command, has_placeholder)) return;
  for (const std::string_view flag : {"--deepspeed_config", "--deepspeed"}) {
    const auto found = find_flag(command, flag);
    if (!found || !found->value.ends_with(".json")) continue;
    std::string& argument = command[found->index];
    argument.replace(argument.size() - found->value.size(), found->value.size(), "{ds_config}");
    merge.note(fmt::format("{} {} of trial.command becomes {{ds_config}}, each experiment's own",
                           flag, found->value));
    return;
  }
  merge.note(
      "trial.command has no {ds_config}: the trial must read the file in SLURMTUNE_DS_CONFIG");
}

}  // namespace

Expected<void> merge_ds_config(const Node& study, const DsConfig& config, StudySpec& spec) {
  const Merge merge{study, config, spec};
  DeepSpeedSpec& deepspeed = spec.deepspeed.emplace();
  deepspeed.config_path = study.find("deepspeed")->find("config")->text;
  deepspeed.config_json = config.json;
  deepspeed.fast = config.fast.value_or(true);
  if (const Node* fast = merge.key("deepspeed", "fast")) {
    if (config.fast && *config.fast != fast->boolean) {
      merge.note(fmt::format("fast = {} of {} is used, not that of {}", fast->boolean, spec.path,
                             config.path));
    }
    deepspeed.fast = fast->boolean;
  }
  merge_zero_stages(merge);
  SLURMTUNE_CHECK(merge_arg_mappings(merge));
  SLURMTUNE_CHECK(merge_global_batch(merge));
  SLURMTUNE_CHECK(check_global_batch(merge));
  SLURMTUNE_CHECK(merge_micro_batches(merge));
  SLURMTUNE_CHECK(merge_user_batch(merge));
  merge_model(merge);
  SLURMTUNE_CHECK(merge_metric(merge));
  point_at_own_config(merge);
  if (!config.unused.empty()) {
    merge.note(fmt::format("not used from \"autotuning\" of {}: {}", config.path,
                           fmt::join(config.unused, ", ")));
  }
  return {};
}

Expected<void> read_generic_batch(const Node& study, StudySpec& spec) {
  if (const Node* model = study.find("model")) {
    spec.model.params = real_at(*model, "params");
    spec.model.hidden = real_at(*model, "hidden");
    spec.model.layers = real_at(*model, "layers");
    spec.model.sequence_length = real_at(*model, "sequence_length");
  }
  const Node* batch = study.find("batch");
  if (batch == nullptr) return {};
  for (const NodeMember& member : batch->members) {
    if (member.key == "global" && member.value.is_number()) {
      spec.batch.global = member.value.as_integer();
      spec.batch.where = fmt::format("{}:{}", spec.path, member.value.line);
      continue;
    }
    return fail_at(spec.path, member.value.line,
                   fmt::format("batch.{} needs a section [deepspeed] to act on", member.key),
                   "remove it, or write a [[parameter]]");
  }
  return {};
}

}  // namespace slurmtune
