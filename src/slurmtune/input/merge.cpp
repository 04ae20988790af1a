// SPDX-License-Identifier: MIT
#include "slurmtune/input/merge.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "slurmtune/input/hugging_face.hpp"

namespace slurmtune {

namespace {

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
  if (ours == nullptr && !theirs && merge.config.has_autotuning) {
    merge.note(
        fmt::format("{} gives no zero_optimization.stage: all are tried (DeepSpeed's own "
                    "tuner would try stage 0 only)",
                    merge.config.path));
  }
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

/// DeepSpeed's pipeline engine asserts that gradients are not partitioned (runtime/pipe/engine.py).
Expected<void> leave_out_pipelined_stages(const Merge& merge) {
  DeepSpeedSpec& deepspeed = *merge.spec.deepspeed;
  if (merge.spec.parallel.pipeline == 1 || deepspeed.zero_stages.back() < 2) return {};
  constexpr std::string_view what = "ZeRO 2 and 3 do not work with pipeline parallelism";
  const Node* ours = merge.key("deepspeed", "zero_stages");
  const auto& theirs = merge.config.zero_stages;
  const bool all = deepspeed.zero_stages.size() == 4;
  if (deepspeed.zero_stages_given && !all) {
    return fail_at(ours != nullptr ? merge.spec.path : merge.config.path,
                   ours != nullptr ? ours->line : theirs->line, what, "ask for 0 and 1");
  }
  std::erase_if(deepspeed.zero_stages, [](int stage) { return stage >= 2; });
  merge.note(fmt::format("{}: they are left out", what));
  return {};
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
    for (const auto& [key, flag] : merge.config.arg_mappings) {
      if (mappings.contains(key)) continue;
      const auto same = std::ranges::find_if(mappings, [&, &theirs = flag](const auto& ours_one) {
        return ours_one.second == theirs;
      });
      if (same == mappings.end()) continue;
      return fail_at(
          merge.spec.path, ours->line,
          fmt::format("deepspeed.arg_mappings gives the flag \"{}\" to {}, and {}:{} "
                      "gives it to {}",
                      flag, same->first, merge.config.path, merge.config.arg_mappings_line, key),
          "a flag has one value: remove one of them");
    }
  }
  // The user may spell it otherwise than the mapping; argparse takes both for one flag.
  for (auto& [key, flag] : deepspeed.arg_mappings) {
    if (find_flag(merge.spec.trial.command, flag)) continue;
    std::string underscored = flag;
    std::replace(underscored.begin() + 2, underscored.end(), '-', '_');
    const auto spelled = find_spelled(merge.spec.trial.command, underscored);
    if (spelled) flag = spelled->flag;
  }
  return {};
}

/// A limit of DeepSpeed's tuner, unless study.toml has its own.
void merge_limit(const Merge& merge, std::string_view ours_key, std::string_view theirs_key,
                 const std::optional<Located<std::int64_t>>& theirs, std::int64_t& limit) {
  if (!theirs) return;
  if (merge.key("search", ours_key) == nullptr) {
    limit = theirs->value;
  } else if (limit != theirs->value) {
    merge.note_study_wins(fmt::format("search.{} = {}", ours_key, limit),
                          fmt::format("{} = {}", theirs_key, theirs->value), theirs->line);
  }
}

void merge_search(const Merge& merge) {
  SearchSpec& search = merge.spec.search;
  merge_limit(merge, "knob_experiments", "tuner_num_trials", merge.config.tuner_num_trials,
              search.knob_experiments);
  merge_limit(merge, "knob_patience", "tuner_early_stopping", merge.config.tuner_early_stopping,
              search.knob_patience);
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
  } else if (name == "forward" || name == "backward" || name == "step") {
    return fail_at(merge.config.path, metric->line,
                   fmt::format("the metric \"{}\" times a part of a step, and only whole steps "
                               "can be compared",
                               name),
                   "write \"latency\" or \"throughput\"");
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
    if (theirs.direction == Direction::minimize) {
      merge.note(
          fmt::format("metric = latency of {}:{}: the step time, as small as possible "
                      "(DeepSpeed's own tuner takes the largest)",
                      merge.config.path, metric->line));
    }
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
  if (std::ranges::any_of(merge.spec.trial.trial_args, has_placeholder)) return;
  // `accelerate launch` tells the trainer by a variable.
  for (const auto& [name, value] : merge.spec.trial.env) {
    if (has_placeholder(value)) return;
  }
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
  spec.notes.insert(spec.notes.end(), config.notes.begin(), config.notes.end());
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
  SLURMTUNE_CHECK(merge_parallel(merge));
  SLURMTUNE_CHECK(merge_mapped_stage(merge));
  SLURMTUNE_CHECK(check_mapped_precision(merge));
  SLURMTUNE_CHECK(leave_out_pipelined_stages(merge));
  SLURMTUNE_CHECK(merge_hugging_face(merge));
  SLURMTUNE_CHECK(merge_batch(merge));
  merge_model(merge);
  merge_search(merge);
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
