// SPDX-License-Identifier: MIT
//
// What trial.command gives the flags of deepspeed.arg_mappings: the user's own values, which the
// baseline has where the config leaves them open.

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

#include "slurmtune/input/merge.hpp"

namespace slurmtune {

namespace {

constexpr std::string_view stage_key = "zero_optimization.stage";

/// Flags of Megatron-DeepSpeed that stand beside a key of its config.
/// Source: Megatron-DeepSpeed, megatron/arguments.py and training.py.
bool must_agree(std::string_view flag) {
  constexpr std::array<std::string_view, 3> flags{"--micro-batch-size", "--global-batch-size",
                                                  "--zero-stage"};
  return std::ranges::find(flags, flag) != flags.end();
}

/// A key of the config and its flag say something else: `said` of the config's `line`.
Expected<void> disagreement(const Merge& merge, const MappedFlag& mapped, std::string_view said,
                            int line) {
  if (!must_agree(mapped.flag)) {
    merge.note(
        fmt::format("{} of {}:{} is the user's own, not {} {} of trial.command; the flag is kept "
                    "in step",
                    said, merge.config.path, line, mapped.flag, mapped.value));
    return {};
  }
  return fail_at(merge.config.path, line,
                 fmt::format("{} contradicts {} {} of trial.command ({}): the training reads both",
                             said, mapped.flag, mapped.value, merge.where(mapped.line)),
                 "make them equal, or take the key out here");
}

}  // namespace

Expected<std::optional<MappedFlag>> mapped_flag(const Merge& merge, std::string_view key,
                                                MappedRange range) {
  const auto& mappings = merge.spec.deepspeed->arg_mappings;
  const auto mapping = mappings.find(std::string(key));
  if (mapping == mappings.end()) return std::nullopt;
  const auto flag = find_flag(merge.spec.trial.command, mapping->second);
  if (!flag || flag->value.find('{') != std::string::npos) return std::nullopt;
  MappedFlag mapped{mapping->second, 0, merge.key("trial", "command")->items.at(flag->index).line};
  const char* end = flag->value.data() + flag->value.size();
  const auto [stopped, problem] = std::from_chars(flag->value.data(), end, mapped.value);
  if (problem == std::errc{} && stopped == end && mapped.value >= range.least &&
      mapped.value <= range.most) {
    return mapped;
  }
  return fail_at(merge.spec.path, mapped.line,
                 fmt::format("trial.command gives {} \"{}\", which is not an integer from {} to {}",
                             mapped.flag, flag->value, range.least, range.most),
                 "write the number (the command is an argv, no shell expands it)");
}

Expected<std::optional<std::int64_t>> mapped_or_config(
    const Merge& merge, std::string_view key, const std::optional<Located<std::int64_t>>& theirs) {
  SLURMTUNE_TRY(const auto mapped, mapped_flag(merge, key));
  if (!theirs) return mapped ? std::optional(mapped->value) : std::nullopt;
  if (mapped && mapped->value != theirs->value) {
    SLURMTUNE_CHECK(
        disagreement(merge, *mapped, fmt::format("{} = {}", key, theirs->value), theirs->line));
  }
  return theirs->value;
}

Expected<std::optional<TrainBatch>> train_batch_of(const Merge& merge) {
  SLURMTUNE_TRY(const auto value,
                mapped_or_config(merge, train_batch_key, merge.config.train_batch));
  if (!value) return std::nullopt;
  if (const auto& theirs = merge.config.train_batch) {
    return TrainBatch{*value, fmt::format("{} = {}", train_batch_key, *value), merge.config.path,
                      theirs->line};
  }
  SLURMTUNE_TRY(const auto mapped, mapped_flag(merge, train_batch_key));
  return TrainBatch{*value, fmt::format("{} {}", mapped->flag, *value), merge.spec.path,
                    mapped->line};
}

Expected<void> check_mapped_precision(const Merge& merge) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kinds{
      {{"fp16", "--bf16"}, {"bf16", "--fp16"}}};
  const auto& mappings = merge.spec.deepspeed->arg_mappings;
  const bool reads_both =
      std::ranges::any_of(mappings, [](const auto& mapping) { return must_agree(mapping.second); });
  if (!reads_both) return {};
  const std::vector<std::string>& command = merge.spec.trial.command;
  for (const auto& [key, other] : kinds) {
    const Node* section = merge.config.root.find(key);
    const Node* enabled = section != nullptr ? section->find("enabled") : nullptr;
    const auto flag = std::ranges::find(command, other);
    const bool contradicts = enabled != nullptr && enabled->kind == Node::Kind::boolean &&
                             enabled->boolean && flag != command.end() &&
                             std::ranges::find(command, fmt::format("--{}", key)) == command.end();
    if (!contradicts) continue;
    const auto index = static_cast<std::size_t>(flag - command.begin());
    const int line = merge.key("trial", "command")->items.at(index).line;
    return fail_at(merge.config.path, enabled->line,
                   fmt::format("{}.enabled = true contradicts {} of trial.command ({}): the "
                               "training reads both",
                               key, other, merge.where(line)),
                   "make them equal");
  }
  return {};
}

Expected<void> merge_mapped_stage(const Merge& merge) {
  constexpr MappedRange stages{.least = 0, .most = 3};
  SLURMTUNE_TRY(const auto mapped, mapped_flag(merge, stage_key, stages));
  if (!mapped) return {};
  DeepSpeedSpec& deepspeed = *merge.spec.deepspeed;
  const auto& theirs = merge.config.zero_stages;
  const int stage = static_cast<int>(mapped->value);
  if (theirs && std::ranges::find(theirs->value, stage) == theirs->value.end()) {
    const std::string said =
        theirs->value.size() == 1 ? std::to_string(theirs->value.front()) : joined(theirs->value);
    return disagreement(merge, *mapped, fmt::format("{} = {}", stage_key, said), theirs->line);
  }
  if (stage >= 2 && merge.spec.parallel.pipeline > 1) {
    return fail_at(merge.spec.path, mapped->line,
                   fmt::format("{} {} of trial.command: ZeRO 2 and 3 do not work with pipeline "
                               "parallelism",
                               mapped->flag, stage),
                   "write 0 or 1");
  }
  // Of a list, which is no DeepSpeed config, the flag says which one the training has.
  deepspeed.zero_stage = stage;
  if (!deepspeed.zero_stages_given) {
    merge.note(
        fmt::format("{} {} of trial.command is where the training stands; all ZeRO stages "
                    "are tried (deepspeed.zero_stages = {} keeps it)",
                    mapped->flag, stage, stage));
  }
  return {};
}

}  // namespace slurmtune
